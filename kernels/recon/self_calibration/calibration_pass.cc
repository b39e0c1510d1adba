#include "kernels/recon/self_calibration/calibration_pass.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/self_calibration/reference/reference_moves.h"

namespace isocenter::recon {
namespace {

// The derivatives by matrices, which the coarse volume comes with, are those of this backend.
constexpr absl::string_view kSearches = "cpu";

}  // namespace

absl::StatusOr<ReferenceMaker> ReferenceMakerOf(const SecondPassPlan& plan) {
  return ReferenceMaker::Create(*plan.settings.reference, plan.again.settings.mu_water_per_mm,
                                ReferenceVoxelMm(plan.again.acquisition));
}

absl::StatusOr<int64_t> CalibrationPassBytes(const SecondPassPlan& plan,
                                             const ops::Registry& registry) {
  const ReconstructionPlan& again = plan.again;
  ISO_ASSIGN_OR_RETURN(const auto device, registry.OpenDevice(kSearches, {.threads = 1}));
  ISO_ASSIGN_OR_RETURN(
      const CalibrationMemory memory,
      CalibrationMemoryOf(again.acquisition, DefaultCalibrationSearch(again.settings), registry,
                          *device));
  const auto weights = static_cast<int64_t>(again.column_weight.size() * sizeof(float));
  int64_t reference = 0;
  if (plan.settings.reference) {
    ISO_ASSIGN_OR_RETURN(const ReferenceMaker maker, ReferenceMakerOf(plan));
    const ReferenceMemory search = ReferenceMemoryOf(again.acquisition, maker.made());
    reference = maker.bytes() + search.host_bytes + search.device_bytes;
  }
  return memory.host_bytes + memory.device_bytes + weights + reference;
}

absl::Status CalibrationPass::Search(LineStore& lines) {
  const int views = plan_.views();
  Acquisition measured = plan_.again.acquisition;
  const auto matrices = lines.Matrices(0, views);
  measured.trajectory.assign(matrices.begin(), matrices.end());
  // A device of its own: the plan's works for others meanwhile.
  ISO_ASSIGN_OR_RETURN(const auto device, registry_.OpenDevice(kSearches, {.threads = threads_}));
  const ops::RawFrames frames{.line_integrals = HostView3<const float>(lines.Lines(0, views))};
  CalibrationSearch search = DefaultCalibrationSearch(plan_.again.settings);
  if (reference_) search.reference = &*reference_;
  ISO_ASSIGN_OR_RETURN(
      found_,
      CalibrateFromFrames(measured, search, frames, {}, registry_, *device, [this](double done) {
        done_ = done;
        return stop_ ? absl::CancelledError("the self-calibration was stopped") : absl::OkStatus();
      }));
  reference_.reset();
  done_ = 1;
  if (!found_.found()) return absl::OkStatus();
  measured.trajectory = Corrected(measured.trajectory, measured.detector, found_);
  // Made anew: a detector that lies elsewhere has other weights of redundancy.
  ISO_ASSIGN_OR_RETURN(ReconstructionPlan corrected,
                       MakePlan(measured, plan_.grid, plan_.again.settings, registry_, devices_,
                                Arrival::kComplete));
  if (corrected.peak_bytes > plan_.peak_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("with the corrected matrices the volume needs ", corrected.peak_bytes,
                     " bytes of a device; ", plan_.peak_bytes, " are reserved"));
  }
  corrected_ = std::make_unique<const ReconstructionPlan>(std::move(corrected));
  return absl::OkStatus();
}

}  // namespace isocenter::recon
