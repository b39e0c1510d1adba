#include "kernels/recon/second_pass/settings.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/second_pass.h"

namespace isocenter::recon {
namespace {

absl::Status CheckRange(absl::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, "; legal is ", low, " to ", high));
}

/// What is looked for in the frames as they came has no other one beside it.
absl::Status CheckAlone(const SecondPassSettings& settings) {
  const char* const alone = settings.motion           ? "motion"
                            : settings.self_calibrate ? "self_calibrate"
                            : settings.complete_rows  ? "complete_rows"
                                                      : nullptr;
  if (alone == nullptr) return absl::OkStatus();
  for (const auto& [name, given] :
       {std::pair("stripes", settings.stripes),
        {"scatter", settings.scatter},
        {"metal", settings.metal.has_value()},
        {"bone", settings.bone},
        {"cone_beam", settings.cone_beam},
        {"self_calibrate", settings.motion && settings.self_calibrate},
        {"complete_rows",
         settings.complete_rows && (settings.motion || settings.self_calibrate)}}) {
    if (!given) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        alone, " is set with ", name, "; legal is one of them, both begin with the frames"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateSecondPassSettings(const SecondPassSettings& settings) {
  if (!NeedsLines(settings) && !settings.cone_beam) {
    return absl::InvalidArgumentError(
        "a second pass has nothing to correct for; legal are stripes, scatter, metal, bone, "
        "cone_beam, motion, self_calibrate and complete_rows");
  }
  ISO_RETURN_IF_ERROR(CheckAlone(settings));
  if (settings.reference && !settings.self_calibrate) {
    return absl::InvalidArgumentError(
        "a reference is set without self_calibrate; legal is one with it");
  }
  if (!settings.metal) return absl::OkStatus();
  const MetalSettings& metal = *settings.metal;
  ISO_RETURN_IF_ERROR(CheckRange("metal_hu", metal.metal_hu, 1000, 30000));
  ISO_RETURN_IF_ERROR(CheckRange("metal_edge_hu", metal.metal_edge_hu, 500, metal.metal_hu));
  ISO_RETURN_IF_ERROR(CheckRange("least_mm3", metal.least_mm3, 0, 1000));
  ISO_RETURN_IF_ERROR(
      CheckRange("trace_margin_px", metal.trace_margin_px, 0, ops::kMostTraceMargin));
  ISO_RETURN_IF_ERROR(CheckRange("tissue_hu", metal.tissue_hu, -500, 0));
  ISO_RETURN_IF_ERROR(CheckRange("air_hu", metal.air_hu, -1000, metal.tissue_hu));
  return CheckRange("bone_hu", metal.bone_hu, 100, 2000);
}

}  // namespace isocenter::recon
