#include "kernels/ops/rings.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/ops/check.h"

namespace isocenter::ops {
namespace {

double StepMm(const VolumeGrid& grid) { return std::min(grid.spacing.x, grid.spacing.y) / 2; }

// From the axis to the farthest corner of a slice.
double FarthestMm(const RingSpec& spec) {
  const double i = std::max(std::abs(spec.axis_i), std::abs(spec.axis_i - (spec.grid.nx - 1)));
  const double j = std::max(std::abs(spec.axis_j), std::abs(spec.axis_j - (spec.grid.ny - 1)));
  return std::hypot(i * spec.grid.spacing.x, j * spec.grid.spacing.y);
}

}  // namespace

absl::Status CheckRings(const RingSpec& spec) {
  ISO_RETURN_IF_ERROR(ValidateGrid(spec.grid));
  const double farthest = FarthestMm(spec), most = (kMostRings - 3) * StepMm(spec.grid);
  if (farthest <= most) return absl::OkStatus();  // false for what is not a number
  return absl::InvalidArgumentError(
      absl::StrCat("the axis of rings is ", farthest,
                   " mm away from a corner of the volume; legal is at most ", most));
}

PolarRaster RasterOf(const RingSpec& spec) {
  PolarRaster raster{.step_mm = StepMm(spec.grid)};
  const double steps = FarthestMm(spec) / raster.step_mm;
  raster.rings = static_cast<int>(steps) + 3;  // with one between whatever is rounded
  // Two steps are a voxel.
  raster.angles =
      kMostRingSectors * std::max(1, static_cast<int>(std::ceil(kPi * steps / kMostRingSectors)));
  return raster;
}

int PolarRaster::Sectors(int ring) const {
  int sectors = kMostRingSectors;
  while (sectors > 1 && 2 * kPi * ring * step_mm < sectors * kLeastSectorMm) sectors /= 2;
  return sectors;
}

absl::Status RemoveRings::Run(int first_slice, VolumeBuffer& volume) {
  ISO_RETURN_IF_ERROR(
      CheckSlices("slices", first_slice, volume.grid().shape(), spec_.grid.shape()));
  return DoRun(volume);
}

absl::Status RemoveStripes::Run(ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckUse(frames, StackUse::kLineIntegrals));
  return DoRun(frames);
}

}  // namespace isocenter::ops
