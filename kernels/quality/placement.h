// Where a phantom is in a volume, by its marker balls; and how true the volume's distances are.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/quality/region.h"

namespace isocenter::quality {

/// From the phantom's frame to the volume's world: turned, then moved.
struct Placement {
  std::array<double, 9> rotation{1, 0, 0, 0, 1, 0, 0, 0, 1};  // row-major
  Vec3 shift;                                                 // mm

  Vec3 Turn(Vec3 way) const;
  Vec3 ToWorld(Vec3 point) const { return Turn(point) + shift; }
  double angle() const;  // radians
};

struct Marker {
  Vec3 center;  // in the phantom's frame, mm
  double radius_mm = 2;
  double hounsfield = 3000;
};

struct FoundMarkers {
  Placement placement;
  std::vector<Vec3> centers;  // in the world, in the order of the markers
  double rms_mm = 0;          // of what the placement leaves of them
  /// Of the distance between two markers whose error is largest.
  double largest_distance_error_mm = 0;
  double scale = 1;  // mean of measured by true distances
};

/// Each marker is looked for within `search_mm` of where it is with the phantom in the world's
/// frame: above 40 % of its Hounsfield value, then as the centroid of what it has above its
/// surroundings. The placement is that of least squares (Horn, J. Opt. Soc. Am. A 4 (1987) 629).
/// Errors: INVALID_ARGUMENT with values and what is legal: fewer than 4 markers, markers in a line;
/// NOT_FOUND for a marker that is not there.
absl::StatusOr<FoundMarkers> FindMarkers(const VolumeView& volume, std::span<const Marker> markers,
                                         double search_mm);

}  // namespace isocenter::quality
