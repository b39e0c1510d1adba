#include "kernels/recon/motion/in_plane.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/geometry/orbit_axis.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/motion/minimize.h"
#include "kernels/recon/motion/posed_focus.h"
#include "kernels/recon/motion/similarity.h"

namespace isocenter::recon {
namespace {

constexpr int kPose = 6;
constexpr double kSlabMm = 40;
constexpr double kFirstStepMm = 0.2;
constexpr double kLeastFall = 2e-5;  // of the entropy, in five iterations

// Takes shifts along the axis, and turns about what is across it, out of [..][6].
void KeepInPlane(Vec3 axis, std::span<double> poses) {
  for (size_t i = 0; i < poses.size(); i += 3) {
    const Vec3 part{poses[i], poses[i + 1], poses[i + 2]};
    const Vec3 along = Dot(axis, part) * axis;
    const Vec3 kept = i % kPose == 0 ? part - along : along;
    poses[i] = kept.x;
    poses[i + 1] = kept.y;
    poses[i + 2] = kept.z;
  }
}

std::vector<double> ParametersOfAll(std::span<const RigidPose> poses) {
  std::vector<double> all;
  for (const RigidPose& pose : poses) {
    const std::vector<double> six = ParametersOf(pose);
    all.insert(all.end(), six.begin(), six.end());
  }
  return all;
}

}  // namespace

absl::StatusOr<VolumeGrid> SlabAboutOrbit(const Trajectory& trajectory, const VolumeGrid& cube) {
  ISO_ASSIGN_OR_RETURN(const Vec3 axis, OrbitAxis(trajectory));
  double height = 0;  // of the orbit's plane, along its axis
  for (const ProjectionMatrix& matrix : trajectory) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
    height += Dot(axis, camera.source) / static_cast<double>(trajectory.size());
  }
  const int beside = static_cast<int>(kSlabMm / 2 / cube.spacing.z);  // slices, on either side
  VolumeGrid slab = CenteredGrid(cube.nx, cube.ny, std::min(cube.nz, 2 * beside + 1), cube.spacing);
  // The shortest turn that takes z to the axis.
  const Vec3 across = Cross({0, 0, 1}, axis);
  const double sine = Norm(across);
  RigidPose turn{.shift_mm = height * axis};
  if (sine > 0) turn.turn_rad = (std::atan2(sine, axis.z) / sine) * across;
  const RigidTransform placed = TransformOf(turn);
  slab.origin = placed(slab.origin);
  slab.direction = placed.rotation;
  return slab;
}

absl::StatusOr<InPlanePoses> SharpenInPlane(
    const Acquisition& acquisition, const BinnedLines& finest, std::span<const RigidPose> poses,
    int voxels, int iterations, const FdkSettings& fdk, const ops::Registry& registry,
    ops::Device& device, ThreadPool& threads,
    const std::function<absl::Status(double done)>& progress) {
  const Trajectory& trajectory = acquisition.trajectory;
  ISO_ASSIGN_OR_RETURN(const Vec3 axis, OrbitAxis(trajectory));
  ISO_ASSIGN_OR_RETURN(const VolumeGrid cube, AutoGrid(trajectory, acquisition.detector, voxels));
  ISO_ASSIGN_OR_RETURN(const VolumeGrid slab, SlabAboutOrbit(trajectory, cube));
  ISO_ASSIGN_OR_RETURN(const auto focus, PosedFocus::Create(acquisition, finest, slab, fdk, poses,
                                                            registry, device, threads));
  const FrameSpline spline = FineSpline(static_cast<int>(trajectory.size()));
  ISO_ASSIGN_OR_RETURN(const SimilarityModes modes, SimilarityModes::Create(trajectory, spline));
  const std::vector<double> given = ParametersOfAll(poses);
  std::vector<double> of_frames(given.size()), by_frame(given.size());
  const auto place = [&](std::span<const double> controls) {
    spline.Evaluate(controls, kPose, of_frames);
    for (size_t i = 0; i < given.size(); ++i) of_frames[i] += given[i];
  };
  InPlanePoses made;
  // Begun at nothing, a search along slopes that are in the plane stays there.
  const Function cost = [&](std::span<const double> controls,
                            std::span<double> gradient) -> absl::StatusOr<double> {
    place(controls);
    ISO_ASSIGN_OR_RETURN(const double entropy, focus->Entropy(of_frames, by_frame));
    spline.Gather(by_frame, kPose, gradient);
    modes.Remove(gradient);
    KeepInPlane(axis, gradient);
    const double done = std::min(1.0, double(++made.evaluations) / iterations);
    if (progress != nullptr) ISO_RETURN_IF_ERROR(progress(done));
    return entropy;
  };
  std::vector<double> controls(size_t(spline.controls()) * kPose, 0.0);
  ISO_RETURN_IF_ERROR(Minimize(cost, kFirstStepMm, iterations, kLeastFall, controls).status());
  place(controls);
  for (size_t i = 0; i < of_frames.size(); i += kPose) {
    made.poses.push_back(PoseFrom(std::span(of_frames).subspan(i, kPose)));
  }
  return made;
}

}  // namespace isocenter::recon
