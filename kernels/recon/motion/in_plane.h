// Poses of an object that are nearly right, made better by the sharpness about the orbit's plane.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/settings.h"

namespace isocenter::recon {

struct InPlanePoses {
  std::vector<RigidPose> poses;
  int evaluations = 0;
};

/// The poses with other shifts in the orbit's plane and other turns about its axis: those that make
/// a slab of 40 mm about that plane sharpest, of as large voxels as a cube over the field of view
/// has with `voxels` along each axis. There filtered back-projection is right, so that the entropy
/// is least near the true poses; farther off, and for nods, rolls and shifts along the axis, it is
/// not (docs/adr/0163). Rays are weighted as an object with the given poses saw them: called again,
/// with what it has found, it has better weights. What is added are splines (FineSpline), without
/// what no frame tells. `finest` [view][v][u] are lines of `acquisition`, `iterations` the most.
/// Errors: those of PosedFocus, AutoGrid and OrbitAxis, progress's.
absl::StatusOr<InPlanePoses> SharpenInPlane(
    const Acquisition& acquisition, const BinnedLines& finest, std::span<const RigidPose> poses,
    int voxels, int iterations, const FdkSettings& fdk, const ops::Registry& registry,
    ops::Device& device, ThreadPool& threads,
    const std::function<absl::Status(double done)>& progress);

/// 40 mm of `cube` about the plane of the orbit, or as much of it as there is: its third axis is
/// the orbit's. Errors: those of OrbitAxis.
absl::StatusOr<VolumeGrid> SlabAboutOrbit(const Trajectory& trajectory, const VolumeGrid& cube);

}  // namespace isocenter::recon
