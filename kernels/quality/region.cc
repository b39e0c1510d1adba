#include "kernels/quality/region.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::quality {
namespace {

// Indices of the voxels along one axis of the grid that may be in the rod.
struct IndexRange {
  int first = 0, last = -1;
};

absl::StatusOr<IndexRange> RangeAlong(const VolumeGrid& grid, const Rod& rod, int index) {
  const int counts[] = {grid.nx, grid.ny, grid.nz};
  const double spacings[] = {grid.spacing.x, grid.spacing.y, grid.spacing.z};
  const Vec3 at = grid.WorldToVoxel(rod.center);
  const double center = index == 0 ? at.x : index == 1 ? at.y : at.z;
  const Vec3 direction{grid.direction[index], grid.direction[3 + index], grid.direction[6 + index]};
  const double cosine = std::min(1.0, std::abs(Dot(rod.axis, direction)));
  const double extent =
      (rod.half_height_mm * cosine + rod.radius_mm * std::sqrt(1 - cosine * cosine)) /
      spacings[index];
  if (!(center - extent >= -0.5 && center + extent <= counts[index] - 0.5)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the region at (%.1f, %.1f, %.1f) mm with a radius of %.1f mm needs voxels "
                        "%.1f to %.1f along %c; legal is -0.5 "
                        "to %.1f, inside the volume",
                        rod.center.x, rod.center.y, rod.center.z, rod.radius_mm, center - extent,
                        center + extent, "xyz"[index], counts[index] - 0.5));
  }
  return IndexRange{std::max(0, static_cast<int>(std::floor(center - extent))),
                    std::min(counts[index] - 1, static_cast<int>(std::ceil(center + extent)))};
}

absl::Status Check(const VolumeView& volume, const Rod& rod) {
  ISO_RETURN_IF_ERROR(ValidateGrid(volume.grid));
  if (volume.voxels.shape() != volume.grid.shape()) {
    return absl::InvalidArgumentError(absl::StrFormat("the volume has %d voxels; its grid has %d",
                                                      volume.voxels.shape().count(),
                                                      volume.grid.voxels()));
  }
  if (rod.radius_mm > 0 && rod.half_height_mm > 0 &&
      std::isfinite(rod.radius_mm + rod.half_height_mm)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("the region's radius is %g and its half height %g mm; legal is more than 0",
                      rod.radius_mm, rod.half_height_mm));
}

}  // namespace

absl::Status VisitRod(const VolumeView& volume, const Rod& rod,
                      absl::FunctionRef<void(double value, Vec3 offset)> visit) {
  ISO_RETURN_IF_ERROR(Check(volume, rod));
  ISO_ASSIGN_OR_RETURN(const IndexRange x, RangeAlong(volume.grid, rod, 0));
  ISO_ASSIGN_OR_RETURN(const IndexRange y, RangeAlong(volume.grid, rod, 1));
  ISO_ASSIGN_OR_RETURN(const IndexRange z, RangeAlong(volume.grid, rod, 2));
  const Vec3 up = Cross(rod.axis, rod.across);
  int64_t voxels = 0;
  for (int k = z.first; k <= z.last; ++k) {
    for (int j = y.first; j <= y.last; ++j) {
      for (int i = x.first; i <= x.last; ++i) {
        const Vec3 from = volume.grid.VoxelToWorld(i, j, k) - rod.center;
        const Vec3 offset{Dot(from, rod.across), Dot(from, up), Dot(from, rod.axis)};
        if (std::abs(offset.z) > rod.half_height_mm ||
            std::hypot(offset.x, offset.y) > rod.radius_mm)
          continue;
        const double value = volume.voxels(k, j, i);
        if (!std::isfinite(value)) {
          return absl::InvalidArgumentError(
              absl::StrFormat("voxel (%d, %d, %d) is %g; legal are finite values", i, j, k, value));
        }
        ++voxels;
        visit(value, offset);
      }
    }
  }
  if (voxels >= kLeastRegionVoxels) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the region at (%.1f, %.1f, %.1f) mm with a radius of %.2f mm has %d voxels; legal is %d or "
      "more",
      rod.center.x, rod.center.y, rod.center.z, rod.radius_mm, voxels, kLeastRegionVoxels));
}

absl::StatusOr<RegionFigures> MeasureRegion(const VolumeView& volume, const Rod& rod) {
  RegionFigures figures;
  double squares = 0;
  // Welford's update: values of 1000 HU with little noise keep all digits.
  ISO_RETURN_IF_ERROR(VisitRod(volume, rod, [&](double value, Vec3) {
    ++figures.voxels;
    const double before = value - figures.mean;
    figures.mean += before / static_cast<double>(figures.voxels);
    squares += before * (value - figures.mean);
  }));
  figures.standard_deviation = std::sqrt(squares / static_cast<double>(figures.voxels - 1));
  return figures;
}

namespace {

// Squared standard error of the rod's mean. Differences of neighbouring slabs (von Neumann) have
// nothing of what changes slowly along the axis.
absl::StatusOr<double> VarianceOfMean(const VolumeView& volume, const Rod& rod) {
  constexpr int kSlabs = 6;
  double sums[kSlabs] = {}, voxels[kSlabs] = {};
  ISO_RETURN_IF_ERROR(VisitRod(volume, rod, [&](double value, Vec3 offset) {
    const double along = (offset.z / rod.half_height_mm + 1) / 2;
    const int slab = std::clamp(static_cast<int>(along * kSlabs), 0, kSlabs - 1);
    sums[slab] += value;
    voxels[slab] += 1;
  }));
  double squares = 0, last = 0;
  int slabs = 0;
  for (int i = 0; i < kSlabs; ++i) {
    if (voxels[i] == 0) continue;
    const double mean = sums[i] / voxels[i];
    if (slabs > 0) squares += (mean - last) * (mean - last);
    last = mean;
    ++slabs;
  }
  return slabs < 2 ? 0 : squares / (2 * (slabs - 1)) / slabs;
}

}  // namespace

absl::StatusOr<Uniformity> MeasureUniformity(const VolumeView& volume, const Rod& disc) {
  constexpr double kPart = 0.12;
  Rod part = disc;
  part.radius_mm = kPart * disc.radius_mm;
  Uniformity result;
  ISO_ASSIGN_OR_RETURN(result.center, MeasureRegion(volume, part));
  ISO_ASSIGN_OR_RETURN(double variance, VarianceOfMean(volume, part));
  const Vec3 up = Cross(disc.axis, disc.across);
  const Vec3 ways[] = {disc.across, up, -disc.across, -up};
  double least = result.center.mean, most = least;
  for (int i = 0; i < 4; ++i) {
    part.center = disc.center + (1 - kPart) * disc.radius_mm * ways[i];
    ISO_ASSIGN_OR_RETURN(const RegionFigures edge, MeasureRegion(volume, part));
    ISO_ASSIGN_OR_RETURN(const double of_edge, VarianceOfMean(volume, part));
    variance += of_edge;
    result.edge_means[i] = edge.mean;
    least = std::min(least, edge.mean);
    most = std::max(most, edge.mean);
    result.non_uniformity =
        std::max(result.non_uniformity, std::abs(edge.mean - result.center.mean));
  }
  result.mean_error = std::sqrt(variance / 5);
  constexpr double kAir = -1000;
  if (!(least > kAir)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a region of the uniform disc has a mean of %.0f HU; legal is more than %g", least, kAir));
  }
  result.integral_non_uniformity = (most - least) / (most + least - 2 * kAir);
  return result;
}

absl::StatusOr<double> ContrastToNoise(const RegionFigures& region,
                                       const RegionFigures& background) {
  if (background.standard_deviation > 0) {
    return std::abs(region.mean - background.mean) / background.standard_deviation;
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("the background's standard deviation is %g HU; legal is more than 0",
                      background.standard_deviation));
}

absl::StatusOr<Linearity> MeasureLinearity(std::span<const InsertValue> inserts) {
  if (inserts.size() < 3) {
    return absl::InvalidArgumentError(
        absl::StrFormat("there are %d inserts; legal is 3 or more", inserts.size()));
  }
  const double count = static_cast<double>(inserts.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const InsertValue& insert : inserts) {
    x += insert.nominal / count;
    y += insert.measured / count;
  }
  for (const InsertValue& insert : inserts) {
    xx += (insert.nominal - x) * (insert.nominal - x);
    xy += (insert.nominal - x) * (insert.measured - y);
  }
  if (!(xx > 0)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("all inserts should be %g HU; legal are two values or more", x));
  }
  Linearity line{.slope = xy / xx, .intercept = y - xy / xx * x};
  for (const InsertValue& insert : inserts) {
    line.largest_deviation =
        std::max(line.largest_deviation,
                 std::abs(insert.measured - line.slope * insert.nominal - line.intercept));
  }
  return line;
}

}  // namespace isocenter::quality
