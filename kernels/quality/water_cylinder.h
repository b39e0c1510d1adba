// A cylinder of water in a volume that corrections have made: whether it is water, and flat.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/quality/region.h"

namespace isocenter::quality {

/// Of water is what is within so much of the radius, away from a wall and the blur of the border.
inline constexpr double kWaterPart = 0.9;
/// How far what is denser than half of water may be narrower (%), or wider than the water for a
/// wall (mm).
inline constexpr double kMostNarrowerPercent = 3, kMostWallMm = 16;

struct WaterCylinder {
  double x_mm = 0, y_mm = 0;  // its axis
  double seen_mm = 0;         // diameter of what is denser than -500 HU
  double water_hu = 0;        // mean of all water
  double cupping_hu = 0;      // the middle less the mean of four regions at the border
  double border_hu = 0;       // the one of these that is farthest from the middle, less the middle
  double air_hu = 0;          // median of what is beside it
  double noise_hu = 0;        // standard deviation in the middle
  struct Point {
    double radius_mm = 0, mean_hu = 0;
  };
  std::vector<Point> profile;  // means of rings about its axis, as wide as a voxel
};

/// Of an upright cylinder, as high as the volume; regions are those of MeasureUniformity. The
/// volume's circle holds no air but what is farther than kMostWallMm from the water. Errors: those
/// of MeasureUniformity; FAILED_PRECONDITION (none of that diameter, or no air beside it).
absl::StatusOr<WaterCylinder> MeasureWaterCylinder(const VolumeView& volume, double diameter_mm);

}  // namespace isocenter::quality
