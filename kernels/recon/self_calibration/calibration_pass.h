// Where the detector was, looked for in the frames beside other work of the device.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/second_pass/line_store.h"
#include "kernels/recon/second_pass/plan.h"
#include "kernels/recon/self_calibration/reference/reference_volume.h"
#include "kernels/recon/self_calibration/self_calibration.h"

namespace isocenter::recon {

/// Of the host, with the reference and what makes it, while it searches and while the volume is
/// made again: the search works on a device of the host's cores alone, whatever the plan's devices
/// are. Needs of `plan` its settings and `again`. Errors: those of CalibrationMemoryOf and
/// ReferenceMakerOf.
absl::StatusOr<int64_t> CalibrationPassBytes(const SecondPassPlan& plan,
                                             const ops::Registry& registry);

/// What makes the reference of a plan that has one. Errors: those of ReferenceMaker::Create.
absl::StatusOr<ReferenceMaker> ReferenceMakerOf(const SecondPassPlan& plan);

/// Search, then the plan with the corrected matrices. Not thread-safe, but for Stop and done.
class CalibrationPass {
 public:
  /// `plan`, `registry` and `devices`, which are the plan's, must outlive it. `threads` that it may
  /// use.
  CalibrationPass(const SecondPassPlan& plan, const ops::Registry& registry,
                  std::span<ops::Device* const> devices, int threads)
      : plan_(plan),
        registry_(registry),
        devices_(devices.begin(), devices.end()),
        threads_(threads) {}

  /// What ReferenceMakerOf made, before Search.
  void SetReference(ReferenceVolume reference) { reference_ = std::move(reference); }
  bool has_reference() const { return reference_.has_value(); }
  /// CalibrateFromFrames in the line integrals of all views, with the matrices that they have.
  /// Errors: its, those of MakePlan, RESOURCE_EXHAUSTED (corrected matrices that take more memory
  /// than the given ones), CANCELLED (Stop).
  absl::Status Search(LineStore& lines);
  /// Search gives up before its next look at the frames, from any thread.
  void Stop() { stop_ = true; }
  /// Of the search: 0 to 1, from any thread.
  double done() const { return done_; }

  /// After Search.
  const SelfCalibration& found() const { return found_; }
  /// plan.again with the corrected matrices; null: nothing was found.
  const ReconstructionPlan* corrected() const { return corrected_.get(); }

 private:
  const SecondPassPlan& plan_;
  const ops::Registry& registry_;
  const std::vector<const ops::Device*> devices_;
  const int threads_;
  std::optional<ReferenceVolume> reference_;
  SelfCalibration found_;
  std::unique_ptr<const ReconstructionPlan> corrected_;
  std::atomic<double> done_ = 0;
  std::atomic<bool> stop_ = false;
};

}  // namespace isocenter::recon
