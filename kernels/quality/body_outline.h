// Where a cylindrical phantom without balls lies: by its outline and its densest and thinnest
// inserts.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/phantom_tables/module_table.h"
#include "kernels/quality/placement.h"

namespace isocenter::quality {

/// Both ways round that fit the outline: the phantom's z along the slices' order, and against it.
/// The phantom has an insert above 650 HU and one below -650 HU at the same distance from its axis.
/// Slices of air beyond the body's ends change nothing. Errors: NOT_FOUND: no slices with an
/// outline of its size, no such inserts.
absl::StatusOr<std::vector<Placement>> PlaceByOutline(const VolumeView& volume,
                                                      const QualityPhantom& phantom);

}  // namespace isocenter::quality
