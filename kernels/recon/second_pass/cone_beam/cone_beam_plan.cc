#include "kernels/recon/second_pass/cone_beam/cone_beam_plan.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/geometry/orbit_axis.h"
#include "kernels/recon/second_pass/staged_copies.h"

namespace isocenter::recon {
namespace {

constexpr int kMostVoxels = 256;  // of the model, along a row or column
constexpr int kMostSlices = 512;  // of the volume's in the model
// The model goes on straight beyond the volume's first and last slice.
constexpr double kMostTiltDeg = 10;

absl::Status CheckTilt(const Acquisition& acquisition, const VolumeGrid& grid) {
  ISO_ASSIGN_OR_RETURN(const Vec3 axis, OrbitAxis(acquisition.trajectory));
  const Vec3 normal{grid.direction[2], grid.direction[5], grid.direction[8]};
  const double tilt_deg = RadiansToDegrees(std::acos(std::min(1.0, std::abs(Dot(axis, normal)))));
  if (tilt_deg <= kMostTiltDeg) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the volume's slices are turned by ", tilt_deg,
                                                 " degrees from the orbit's plane; legal for a "
                                                 "correction of the cone-beam artefact is at most ",
                                                 kMostTiltDeg));
}

int Merged(int count, int merge) { return (count + merge - 1) / merge; }

/// How far from the orbit's plane rays come that pass a voxel which is `end_mm` away from it, on
/// the volume's side of that end; negative ends lie on the other side of the plane.
double Reach(double end_mm, double radius, double source) {
  const double more = (source + radius) / (source - radius);
  return end_mm > 0 ? end_mm * more : end_mm / more;
}

void ChooseMerging(const VolumeGrid& grid, ConeBeamPlan& plan) {
  plan.merge = Merged(std::max(grid.nx, grid.ny), kMostVoxels);
  const double edge = plan.merge * std::min(grid.spacing.x, grid.spacing.y);
  plan.merge_slices = std::max(
      {1, static_cast<int>(std::lround(edge / grid.spacing.z)), Merged(grid.nz, kMostSlices)});
}

// The volume's field of view, merged, and what else of it rays of its voxels pass.
VolumeGrid ModelGrid(const VolumeGrid& grid, double half_height, ConeBeamPlan& plan) {
  const double slice_mm = plan.merge_slices * grid.spacing.z;
  const double isocenter = grid.WorldToVoxel({0, 0, 0}).z;
  const double highest = half_height * (1 + plan.radius_mm / plan.source_mm);
  const auto more = [&](double end_mm) {
    const double needed = std::min(highest, Reach(end_mm, plan.radius_mm, plan.source_mm)) - end_mm;
    return std::clamp(static_cast<int>(std::ceil(needed / slice_mm)), 0, kMostSlices);
  };
  const double below = (isocenter + 0.5) * grid.spacing.z;
  const double above = (grid.nz - 0.5 - isocenter) * grid.spacing.z;
  plan.more_below = more(below);
  plan.more_above = more(above);
  plan.known_from_mm = -std::min(below, half_height);
  plan.known_to_mm = std::min(above, half_height);
  VolumeGrid model = grid;
  model.nx = Merged(grid.nx, plan.merge);
  model.ny = Merged(grid.ny, plan.merge);
  model.nz = plan.more_below + Merged(grid.nz, plan.merge_slices) + plan.more_above;
  model.spacing = {plan.merge * grid.spacing.x, plan.merge * grid.spacing.y, slice_mm};
  model.origin = grid.VoxelToWorld(
      0.5 * (plan.merge - 1), 0.5 * (plan.merge - 1),
      0.5 * (plan.merge_slices - 1) - static_cast<double>(plan.more_below) * plan.merge_slices);
  return model;
}

}  // namespace

absl::StatusOr<ConeBeamPlan> MakeConeBeamPlan(const ReconstructionPlan& first,
                                              const ops::Registry& registry,
                                              std::span<const ops::Device* const> devices) {
  const Acquisition& acquisition = first.acquisition;
  ISO_RETURN_IF_ERROR(CheckTilt(acquisition, first.grid));
  ISO_ASSIGN_OR_RETURN(const FieldOfView seen,
                       ComputeFieldOfView(acquisition.trajectory, acquisition.detector));
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(acquisition.trajectory.front()));
  ConeBeamPlan plan;
  plan.radius_mm = seen.radius_mm;
  plan.source_mm = camera.isocenter_depth_mm;
  ChooseMerging(first.grid, plan);
  const VolumeGrid grid = ModelGrid(first.grid, seen.half_height_mm, plan);
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  static_cast<PixelBins&>(plan) = BinsFor(acquisition, grid.spacing.x);
  // The model is as sharp as the volume; a smoother filter would blur it again.
  FdkSettings settings = first.settings;
  settings.window = ops::FilterWindow::kRamLak;
  settings.cutoff = 1;
  settings.truncation = ops::Truncation::kNone;
  ISO_ASSIGN_OR_RETURN(plan.model, MakePlan(Binned(acquisition, plan), grid, settings, registry,
                                            devices, Arrival::kComplete));
  plan.model.hounsfield = {.mu_water_per_mm = first.hounsfield.mu_water_per_mm};
  plan.chunk_views = LargestChunk(plan.model);
  return plan;
}

int64_t ConeBeamLockedBytes(const ConeBeamPlan& plan, const VolumeGrid& volume) {
  const Detector& detector = plan.model.acquisition.detector;
  const int64_t chunk = int64_t{detector.columns} * detector.rows * plan.chunk_views *
                        static_cast<int64_t>(sizeof(float));
  if (!plan.on_device) return chunk;
  return std::max(
      {chunk, StagedCopies::LeastBytes(volume), StagedCopies::LeastBytes(plan.model.grid)});
}

int64_t ConeBeamHostBytes(const ConeBeamPlan& plan, const VolumeGrid& volume) {
  // The model's reconstruction; without a device that does it the model and weights, too.
  const int volumes = plan.on_device ? 1 : 3;
  return volumes * VolumeBytes(plan.model.grid) + ConeBeamLockedBytes(plan, volume) +
         plan.model.host_bytes;
}

}  // namespace isocenter::recon
