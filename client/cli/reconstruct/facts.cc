#include "client/cli/reconstruct/facts.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/crc32c.h"
#include "kernels/quality/conditions.h"

namespace isocenter::cli {
namespace {

/// The filter as the service calls it, or what iterated, and second passes.
std::string FilterOf(const ReconstructOptions& options) {
  std::string text = options.algorithm == "fdk"
                         ? absl::StrFormat("%s %.2f", options.window, options.fdk.cutoff)
                         : absl::StrFormat("%s, %d iterations", options.algorithm,
                                           options.iterative.settings.iterations);
  const std::pair<bool, const char*> passes[] = {{options.scatter, "scatter"},
                                                 {options.metal, "metal"},
                                                 {options.bone, "bone"},
                                                 {options.cone_beam, "cone beam"},
                                                 {options.complete_rows, "completed rows"},
                                                 {options.motion, "motion"},
                                                 {options.rings, "rings"}};
  for (const auto& [taken, name] : passes) {
    if (taken) absl::StrAppend(&text, ", ", name);
  }
  return text;
}

std::string CalibrationOf(const recon::Acquisition& acquisition) {
  if (acquisition.calibration != nullptr) return acquisition.calibration->name;
  // Line integrals come from whoever corrected them.
  return acquisition.pixel_type == recon::PixelType::kUint16Counts ? quality::kUncorrectedScan : "";
}

}  // namespace

formats::VolumeFacts FactsOf(const ReconstructOptions& options, const v1::AcquisitionHeader& header,
                             const recon::Acquisition& acquisition, const LocalFrames& frames) {
  uint32_t checksum = 0;
  for (int view = 0; view < static_cast<int>(acquisition.trajectory.size()); ++view) {
    checksum = ExtendCrc32c(checksum, frames.frame(view));
  }
  return {.unit = "HU",
          .frames = absl::StrFormat("pixels %08x", checksum),
          .protocol = header.protocol(),
          .filter = FilterOf(options),
          .calibration = CalibrationOf(acquisition),
          .tube_voltage_kv = header.tube_voltage_kv()};
}

}  // namespace isocenter::cli
