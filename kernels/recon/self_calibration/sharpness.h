// How sharp a coarse volume is, by where the detector was.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/motion/focus.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/self_calibration/detector_move.h"
#include "kernels/recon/settings.h"

namespace isocenter::recon {

/// A shift along u and a roll of all frames together: what of a constant move can be told. A shift
/// along v is a volume that lies elsewhere along the axis.
struct ConstantMove {
  double u_mm = 0, roll_rad = 0;
};

/// The moves with the constant one after them.
std::vector<DetectorMove> Then(std::vector<DetectorMove> moves, const ConstantMove& constant);

class Sharpness {
 public:
  /// A cube of `voxels` over the field of view. `acquisition`, `device` and `threads` must outlive
  /// it. Frames are filtered with the weights of the given matrices. Errors: those of MakePlan and
  /// Focus::Create.
  static absl::StatusOr<std::unique_ptr<Sharpness>> Create(
      const Acquisition& acquisition, const BinnedLines& finest, int voxels, const FdkSettings& fdk,
      const ops::Registry& registry, ops::Device& device, ThreadPool& threads);

  /// The entropy of the values' histogram (Focus) where the frames are moved so. Errors: a
  /// device's.
  absl::StatusOr<double> Entropy(const std::vector<DetectorMove>& moves);

 private:
  Sharpness(const Acquisition& acquisition, ReconstructionPlan plan)
      : acquisition_(acquisition), plan_(std::move(plan)) {}

  const Acquisition& acquisition_;
  const ReconstructionPlan plan_;
  std::unique_ptr<Focus> focus_;
};

}  // namespace isocenter::recon
