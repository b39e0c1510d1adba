// Poses of an object, found by the sharpness of its volume, made better by what planes say.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/motion/binned_frames.h"

namespace isocenter::recon {

struct PlanePoses {
  /// Why the poses are the ones that were given; empty: they are others.
  std::string kept;
  std::vector<RigidPose> poses;
  /// Median absolute difference of what pairs of frames say of planes, with the given poses and
  /// with these.
  double before = 0, after = 0;
};

/// What planes are seen in: lines of pixels of 1.6 mm at the isocentre. As FinestLines.
absl::StatusOr<BinnedLines> LinesForPlanes(const Acquisition& acquisition,
                                           const ops::RawFrames& frames,
                                           std::span<const float> doses,
                                           const ops::Registry& registry, ops::Device& device,
                                           const std::function<absl::Status()>& go_on);

/// calibrate::FitPoses for these, with FineSpline. Errors: FitPoses'.
absl::StatusOr<PlanePoses> FitByPlanes(const Acquisition& acquisition, const BinnedLines& lines,
                                       std::span<const RigidPose> poses, ThreadPool& threads,
                                       const std::function<absl::Status(double done)>& progress);
/// What both take of the host's memory, at most, beside frames and poses.
int64_t PlanePosesHostBytes(const Acquisition& acquisition);

}  // namespace isocenter::recon
