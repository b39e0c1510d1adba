#include "kernels/recon/second_pass/motion_pass.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/recon/motion/compensation.h"

namespace isocenter::recon {
namespace {

// The derivatives by matrices are those of this backend; a GPU goes on with the volumes of others.
constexpr absl::string_view kSearches = "cpu";

}  // namespace

absl::StatusOr<int64_t> MotionPassBytes(const ReconstructionPlan& again,
                                        const ops::Registry& registry) {
  ISO_ASSIGN_OR_RETURN(const auto device, registry.OpenDevice(kSearches, {.threads = 1}));
  ISO_ASSIGN_OR_RETURN(
      const MotionMemory memory,
      MotionMemoryOf(again.acquisition, DefaultMotionSearch(again.views(), again.settings),
                     registry, *device));
  const auto weights = static_cast<int64_t>(again.column_weight.size() * sizeof(float));
  return memory.host_bytes + memory.device_bytes + weights;
}

std::string ToText(const FoundMotion& found) {
  const std::string entropies = absl::StrFormat("the entropy of its values is %.3f, before %.3f",
                                                found.entropy_after, found.entropy_before);
  if (!found.moved) {
    return absl::StrFormat(
        "motion: none found that makes the volume clearly sharper (%s, legal is %.2f less); it is "
        "as it was",
        entropies, kLeastEntropyGain);
  }
  const MotionExtent extent = ExtentOf(found.poses);
  const std::string planes =
      found.planes_not_used.empty()
          ? absl::StrFormat("planes of pairs of frames differ by %.3g, before %.3g",
                            found.planes_after, found.planes_before)
          : absl::StrCat("planes of pairs of frames were not used: ", found.planes_not_used);
  return absl::StrFormat(
      "motion: up to %.1f mm and %.1f deg from the mean pose are taken out; %s; %s",
      extent.shift_mm, RadiansToDegrees(extent.turn_rad), entropies, planes);
}

absl::Status MotionPass::Search(LineStore& lines) {
  const int views = plan_.views();
  ReconstructionPlan measured = plan_.again;
  const auto matrices = lines.Matrices(0, views);
  measured.acquisition.trajectory.assign(matrices.begin(), matrices.end());
  // A device of its own: the plan's works for others meanwhile.
  ISO_ASSIGN_OR_RETURN(const auto device, registry_.OpenDevice(kSearches, {.threads = threads_}));
  const ops::RawFrames frames{.line_integrals = HostView3<const float>(lines.Lines(0, views))};
  ISO_ASSIGN_OR_RETURN(
      found_, FindMotion(measured.acquisition, DefaultMotionSearch(views, measured.settings),
                         frames, {}, registry_, *device, [this](double done) {
                           done_ = done;
                           return stop_ ? absl::CancelledError("the search for motion was stopped")
                                        : absl::OkStatus();
                         }));
  done_ = 1;
  if (!found_.moved) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(ReconstructionPlan at_rest, WithMotion(std::move(measured), found_.poses));
  at_rest_ = std::make_unique<const ReconstructionPlan>(std::move(at_rest));
  return absl::OkStatus();
}

}  // namespace isocenter::recon
