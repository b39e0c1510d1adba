#include "kernels/recon/motion/similarity.h"

#include <cmath>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::StatusOr<SimilarityModes> SimilarityModes::Create(const Trajectory& trajectory,
                                                        const FrameSpline& spline) {
  constexpr int kPose = 6;
  SimilarityModes made;
  for (int mode = 0; mode <= kPose; ++mode) {
    std::vector<double> of_frames;
    for (const ProjectionMatrix& matrix : trajectory) {
      std::vector<double> pose(kPose, 0.0);
      if (mode < kPose) {
        pose[mode] = 1;
      } else {
        ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
        const Vec3 towards = (1 / Norm(camera.source)) * camera.source;
        pose = {towards.x, towards.y, towards.z, 0, 0, 0};
      }
      of_frames.insert(of_frames.end(), pose.begin(), pose.end());
    }
    // <B x, g> = <x, Bᵀ g>: poses without a share in g are controls without one in Bᵀ g.
    std::vector<double> of_controls(size_t(spline.controls()) * kPose);
    spline.Gather(of_frames, kPose, of_controls);
    made.Remove(of_controls);
    double square = 0;
    for (const double share : of_controls) square += share * share;
    for (double& share : of_controls) share /= std::sqrt(square);
    made.modes_.push_back(std::move(of_controls));
  }
  return made;
}

void SimilarityModes::Remove(std::span<double> controls) const {
  for (const std::vector<double>& mode : modes_) {
    double share = 0;
    for (size_t i = 0; i < mode.size(); ++i) share += mode[i] * controls[i];
    for (size_t i = 0; i < mode.size(); ++i) controls[i] -= share * mode[i];
  }
}

}  // namespace isocenter::recon
