// Motions that no frames can tell.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {

/// A pose that is the same in all frames moves the volume and leaves it as sharp. A shift along
/// each frame's own direction to the source, as long in all, makes the volume larger or smaller
/// and leaves it as sharp. A search without them keeps the volume in its place and size.
class SimilarityModes {
 public:
  /// Of splines of six parameters. Errors: those of Decompose.
  static absl::StatusOr<SimilarityModes> Create(const Trajectory& trajectory,
                                                const FrameSpline& spline);
  /// Takes the seven modes out of controls, or of a derivative by them: an orthogonal projection,
  /// after which the frames' poses have no share in any mode.
  void Remove(std::span<double> controls) const;

 private:
  std::vector<std::vector<double>> modes_;  // orthonormal
};

}  // namespace isocenter::recon
