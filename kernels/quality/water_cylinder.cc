#include "kernels/quality/water_cylinder.h"

#include <algorithm>
#include <cmath>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_format.h"
#include "kernels/base/median.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::quality {
namespace {

constexpr double kTissue = -500;
/// Of the circle that the volume holds; beyond, filters end.
constexpr double kUsedCircle = 0.95;

void VisitCircle(const VolumeView& volume,
                 absl::FunctionRef<void(double value, const Vec3& at)> visit) {
  const VolumeGrid& grid = volume.grid;
  const Vec3 middle = grid.VoxelToWorld(0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0);
  const double radius =
      0.5 * kUsedCircle * std::min(grid.nx * grid.spacing.x, grid.ny * grid.spacing.y);
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const Vec3 at = grid.VoxelToWorld(i, j, k);
        if (std::hypot(at.x - middle.x, at.y - middle.y) > radius) continue;
        visit(volume.voxels(k, j, i), at);
      }
    }
  }
}

/// What lies beside it, as a table does, is left out once its middle is known.
absl::Status Find(const VolumeView& volume, double diameter_mm, WaterCylinder& found) {
  const VolumeGrid& grid = volume.grid;
  const double near = 0.5 * diameter_mm + 2 * kMostWallMm;
  for (const double reach : {1e9, near, near}) {
    double count = 0, x = 0, y = 0;
    VisitCircle(volume, [&](double value, const Vec3& at) {
      if (!(value > kTissue) || std::hypot(at.x - found.x_mm, at.y - found.y_mm) > reach) return;
      ++count;
      x += at.x;
      y += at.y;
    });
    found.seen_mm = 2 * std::sqrt(count * grid.spacing.x * grid.spacing.y / (grid.nz * kPi));
    if (count == 0) break;
    found.x_mm = x / count;
    found.y_mm = y / count;
  }
  const double least = diameter_mm * (1 - kMostNarrowerPercent / 100);
  const double most = diameter_mm + 2 * kMostWallMm;
  if (found.seen_mm >= least && found.seen_mm <= most) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "what is denser than %g HU has a diameter of %.1f mm; legal is %.1f to %.1f mm, that of the "
      "water and a wall: is it a scan of this cylinder, whole in the frames?",
      kTissue, found.seen_mm, least, most));
}

absl::Status MeasureAir(const VolumeView& volume, double diameter_mm, WaterCylinder& found) {
  const double beyond = std::max(found.seen_mm, diameter_mm) / 2 + kMostWallMm;
  std::vector<double> air;
  VisitCircle(volume, [&](double value, const Vec3& at) {
    const bool beside = std::hypot(at.x - found.x_mm, at.y - found.y_mm) > beyond;
    if (beside && std::isfinite(value)) air.push_back(value);
  });
  if (static_cast<int64_t>(air.size()) < kLeastRegionVoxels) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%d voxels of air are beside the cylinder; legal is %d at least, %g mm from it: take a "
        "thinner one",
        air.size(), kLeastRegionVoxels, kMostWallMm));
  }
  found.air_hu = MedianOf(air);
  return absl::OkStatus();
}

/// From the middle to beyond the border.
std::vector<WaterCylinder::Point> ProfileOf(const VolumeView& volume, double diameter_mm,
                                            const WaterCylinder& found) {
  struct Ring {
    double sum = 0;
    int64_t voxels = 0;
  };
  const double width = volume.grid.spacing.x;
  std::vector<Ring> rings(static_cast<size_t>(0.6 * diameter_mm / width));
  VisitCircle(volume, [&](double value, const Vec3& at) {
    const double radius = std::hypot(at.x - found.x_mm, at.y - found.y_mm);
    const auto ring = static_cast<size_t>(radius / width);
    if (ring >= rings.size()) return;
    rings[ring].sum += value;
    ++rings[ring].voxels;
  });
  std::vector<WaterCylinder::Point> profile;
  for (size_t i = 0; i < rings.size(); ++i) {
    if (rings[i].voxels == 0) continue;
    profile.push_back({(static_cast<double>(i) + 0.5) * width,
                       rings[i].sum / static_cast<double>(rings[i].voxels)});
  }
  return profile;
}

}  // namespace

absl::StatusOr<WaterCylinder> MeasureWaterCylinder(const VolumeView& volume, double diameter_mm) {
  WaterCylinder found;
  ISO_RETURN_IF_ERROR(Find(volume, diameter_mm, found));
  const VolumeGrid& grid = volume.grid;
  const Rod water{
      .center = {found.x_mm, found.y_mm, grid.VoxelToWorld(0, 0, 0.5 * (grid.nz - 1)).z},
      .radius_mm = kWaterPart * diameter_mm / 2,
      .half_height_mm = 0.49 * grid.nz * grid.spacing.z};
  ISO_ASSIGN_OR_RETURN(const RegionFigures all, MeasureRegion(volume, water));
  ISO_ASSIGN_OR_RETURN(const Uniformity regions, MeasureUniformity(volume, water));
  ISO_RETURN_IF_ERROR(MeasureAir(volume, diameter_mm, found));
  found.water_hu = all.mean;
  found.noise_hu = regions.center.standard_deviation;
  found.cupping_hu = regions.cupping();
  for (const double mean : regions.edge_means) {
    const double off = mean - regions.center.mean;
    if (std::abs(off) > std::abs(found.border_hu)) found.border_hu = off;
  }
  found.profile = ProfileOf(volume, diameter_mm, found);
  return found;
}

}  // namespace isocenter::quality
