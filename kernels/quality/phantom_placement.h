// Where a phantom for image quality lies in a volume, whichever way it was put.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "kernels/geometry/phantom_tables/module_table.h"
#include "kernels/quality/placement.h"

namespace isocenter::quality {

/// A module's cylinder in the volume's world, of `part` of its radius and height.
Rod RodOf(const Placement& placement, const PhantomModule& module, double part);

struct PhantomPlace {
  Placement placement;
  double tilt_deg = 0;             // of its axis against the slices' normal
  double roll_deg = 0;             // about its axis, against the slices' rows
  double insert_deviation_hu = 0;  // root of the mean square, of inserts from what they should be
  std::optional<FoundMarkers> markers;  // of phantoms that have balls
};

/// By its balls, where it has 4 or more of them, within 15 mm of where they are in the world or
/// about the middle of what is denser than air; else by the outline of its body and its inserts.
/// Of the ways in which that fits, the one in which the inserts are what they should be. Errors:
/// NOT_FOUND, with what is missing where, for a volume that does not hold the phantom;
/// INVALID_ARGUMENT, with the value and what is legal: a tilt above 10°, modules outside of the
/// volume, inserts that are farther than 400 HU from what they should be, a slice between the
/// modules whose voxels are all the same, and a volume that is mirrored (CheckHandedness).
absl::StatusOr<PhantomPlace> PlacePhantom(const VolumeView& volume, const QualityPhantom& phantom);

}  // namespace isocenter::quality
