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

namespace isocenter::recon {

struct PlanePoses {
  /// Why the poses are the ones that were given; empty: they are others.
  std::string kept;
  std::vector<RigidPose> poses;
  /// Median absolute difference of what pairs of frames say of planes, with the given poses and
  /// with these.
  double before = 0, after = 0;
};

/// calibrate::FitPoses for frames of pixels of 1.6 mm at the isocentre, with cubic splines of 32
/// spans, or of three frames where they are fewer. `frames` and `doses` as for FindMotion. Errors:
/// those of FinestLines and FitPoses.
absl::StatusOr<PlanePoses> FitByPlanes(const Acquisition& acquisition,
                                       std::span<const RigidPose> poses,
                                       const ops::RawFrames& frames, std::span<const float> doses,
                                       const ops::Registry& registry, ops::Device& device,
                                       ThreadPool& threads,
                                       const std::function<absl::Status(double done)>& progress);
/// What it takes of the host's memory, at most, beside its arguments.
int64_t PlanePosesHostBytes(const Acquisition& acquisition);

}  // namespace isocenter::recon
