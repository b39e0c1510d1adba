#include "kernels/recon/detruncation/detruncation_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/geometry/redundancy.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/second_pass/plan.h"

namespace isocenter::recon {
namespace {

constexpr int kVoxels = 112;  // across twice the field of view
constexpr int kMostSlices = 256;
constexpr int kSubsets = 8;
// With fewer the model is little more than its first and last slices, which few rays know.
constexpr int kLeastBinnedRows = 5;

// Sources and detector see as far beyond the field of view as within it where rows are twice as
// long.
absl::StatusOr<VolumeGrid> CoarseGrid(const Acquisition& acquisition, const FieldOfView& seen) {
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(acquisition.trajectory.front()));
  const double radius = 2 * seen.radius_mm, voxel = 2 * radius / kVoxels;
  const double height = seen.half_height_mm * (1 + radius / camera.isocenter_depth_mm);
  const int slices = std::clamp(static_cast<int>(std::ceil(2 * height / voxel)), 1, kMostSlices);
  const VolumeGrid grid = CenteredGrid(kVoxels, kVoxels, slices, {voxel, voxel, voxel});
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  return grid;
}

/// Line integrals of a detector with `more` columns on either side.
Acquisition WithMoreColumns(const Acquisition& acquisition, int more) {
  Acquisition wide = AsLineIntegrals(acquisition);
  wide.detector.columns += 2 * more;
  for (ProjectionMatrix& matrix : wide.trajectory) matrix = Widened(matrix, more);
  return wide;
}

/// Half of the columns, or as many as the arc has weights for.
absl::StatusOr<int> MoreColumns(const Acquisition& acquisition, RedundancyWeighting weighting) {
  const int columns = acquisition.detector.columns, least = columns / 8;
  const int step = std::max(1, columns / 32);
  for (int more = columns / 2;; more -= step) {
    const Acquisition wide = WithMoreColumns(acquisition, std::max(more, least));
    const auto outline = OutlineRedundancy(wide.trajectory, wide.detector, weighting);
    if (outline.ok() && outline->columns_lacking_before + outline->columns_lacking_after > 0) {
      return absl::InvalidArgumentError(
          "the detector is displaced; legal for completing rows is one that sees as far on both "
          "sides of the axis");
    }
    if (outline.ok()) return std::max(more, least);
    if (more <= least) return outline.status();
  }
}

// The model while it is projected onto completed rows, beside their reconstruction.
absl::StatusOr<MemoryParts> CompletingParts(const DetruncationPlan& plan,
                                            const ops::Registry& registry,
                                            const ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry, device.backend()));
  const Detector& detector = plan.again.acquisition.detector;
  const Shape3 stack{LargestChunk(plan.again), detector.rows, detector.columns};
  const ops::Extents extents{.stack = stack, .grid = plan.model.grid};
  MemoryParts parts = plan.again.device_parts;
  parts.push_back({"model", device.VolumeBytes(extents.grid)});
  parts.push_back(
      {"model's projections", device.ProjectionStackBytes(stack, ops::StackUse::kProjections)});
  parts.push_back({"model's projector", methods.project.WorkspaceBytes(device, extents) +
                                            methods.arithmetic.WorkspaceBytes(device, extents)});
  return parts;
}

absl::Status CountBytes(const ops::Registry& registry, const ops::Device& device,
                        DetruncationPlan& plan) {
  ISO_ASSIGN_OR_RETURN(plan.device_parts, CompletingParts(plan, registry, device));
  ISO_ASSIGN_OR_RETURN(
      const int64_t receiving,
      LineConverter::DeviceBytes(plan.acquisition, {0, plan.acquisition.detector.rows},
                                 plan.chunk_views, registry, device));
  for (const MemoryParts& parts :
       {MemoryParts{{"a chunk of frames and its corrections", receiving}}, plan.start.device_parts,
        plan.model.device_parts, plan.warm_start->device_parts}) {
    if (TotalBytes(parts) > TotalBytes(plan.device_parts)) plan.device_parts = parts;
  }
  plan.peak_bytes = TotalBytes(plan.device_parts);
  const int64_t limit = device.limits().memory_bytes;
  if (plan.peak_bytes > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("completing rows needs ", BytesText(plan.peak_bytes),
                     " of memory; the limit is ", BytesText(limit)));
  }
  const auto bytes = [](const Acquisition& acquisition, int64_t views) {
    return int64_t{acquisition.detector.columns} * acquisition.detector.rows * views *
           static_cast<int64_t>(sizeof(float));
  };
  plan.host_parts = plan.warm_start->host_parts;
  const MemoryParts beside{
      {"line integrals", bytes(plan.acquisition, plan.views())},
      {"larger chunks of frames",
       (MostViewsAtOnce(plan) - LargestChunk(*plan.warm_start)) * FrameBytes(plan.acquisition)},
      {"volume that is corrected", VolumeBytes(plan.grid)},
      {"binned rows, and extended ones",
       bytes(plan.model.acquisition, plan.views()) + bytes(plan.start.acquisition, plan.views())},
      {"model", 2 * VolumeBytes(plan.model.grid)},
      {"completed rows of a chunk", bytes(plan.again.acquisition, LargestChunk(plan.again))},
      {"reconstruction",
       std::max({plan.start.host_bytes, plan.model.host_bytes, plan.again.host_bytes})}};
  plan.host_parts.insert(plan.host_parts.end(), beside.begin(), beside.end());
  plan.host_bytes = TotalBytes(plan.host_parts);
  return absl::OkStatus();
}

}  // namespace

ProjectionMatrix Widened(const ProjectionMatrix& matrix, int more) {
  ProjectionMatrix wide = matrix;
  for (int i = 0; i < 4; ++i) wide.m[i] += more * matrix.m[8 + i];
  return wide;
}

absl::StatusOr<DetruncationPlan> MakeDetruncationPlan(
    const Acquisition& acquisition, const VolumeGrid& grid, const FdkSettings& fdk,
    const ops::Registry& registry, std::span<const ops::Device* const> devices, Arrival arrival) {
  DetruncationPlan plan;
  plan.acquisition = acquisition;
  plan.grid = grid;
  ISO_ASSIGN_OR_RETURN(plan.warm_start,
                       MakePlan(acquisition, grid, fdk, registry, devices, arrival));
  ISO_ASSIGN_OR_RETURN(const FieldOfView seen,
                       ComputeFieldOfView(acquisition.trajectory, acquisition.detector));
  plan.known_radius_mm = seen.radius_mm;
  ISO_ASSIGN_OR_RETURN(const VolumeGrid coarse, CoarseGrid(acquisition, seen));
  plan.bins =
      BinsFor(acquisition, std::min(coarse.spacing.x, 2 * seen.half_height_mm / kLeastBinnedRows));
  const Acquisition binned = Binned(acquisition, plan.bins);

  FdkSettings settings = fdk;
  settings.truncation = ops::Truncation::kCylinder;  // where even completed rows do not end
  ISO_ASSIGN_OR_RETURN(plan.more_columns, MoreColumns(acquisition, fdk.redundancy));
  ISO_ASSIGN_OR_RETURN(plan.again, MakePlan(WithMoreColumns(acquisition, plan.more_columns), grid,
                                            settings, registry, devices, Arrival::kComplete));
  settings.window = ops::FilterWindow::kHann;
  settings.cutoff = 1;
  plan.more_binned = plan.more_columns / plan.bins.bin;
  ISO_ASSIGN_OR_RETURN(plan.start, MakePlan(WithMoreColumns(binned, plan.more_binned), coarse,
                                            settings, registry, devices, Arrival::kComplete));
  // The model is in Hounsfield units of no table.
  plan.start.hounsfield = {.mu_water_per_mm = plan.warm_start->hounsfield.mu_water_per_mm};
  const IterativeSettings pass{.iterations = 1,
                               .subsets = std::min(kSubsets, plan.warm_start->views()),
                               .warm_start = false};
  ISO_ASSIGN_OR_RETURN(plan.model,
                       MakeRefinementPlan(binned, coarse, settings, pass, registry, devices));
  plan.model.hounsfield = plan.start.hounsfield;
  plan.chunk_views = std::min(devices[0]->traits().chunk_views, plan.views());
  plan.methods = plan.model.methods;
  plan.voxel_updates =
      plan.again.voxel_updates + plan.start.voxel_updates + kModelPasses * plan.model.voxel_updates;
  ISO_RETURN_IF_ERROR(CountBytes(registry, *devices[0], plan));
  return plan;
}

}  // namespace isocenter::recon
