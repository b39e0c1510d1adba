// What edges of rods and of spheres share: values by distance, and the transform of their slope.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/quality/transfer_curve.h"

namespace isocenter::quality {

struct DistanceValue {
  double distance = 0, value = 0;
};

/// Means of values in bins of `width` mm from the distance `from` on; bins without values get what
/// is between their neighbours. Errors: INVALID_ARGUMENT where more than a half of the bins has no
/// value.
absl::StatusOr<std::vector<double>> SpreadByDistance(std::span<const DistanceValue> values,
                                                     double from, double width, int bins);

/// The modulation transfer function of an edge in the middle of `spread`, 1 at frequency 0, up to
/// `end` (1/mm): differences, whose outer 40 % are tapered, transformed; what bins and differences
/// take away is put back.
FrequencyCurve TransformSpread(std::span<const double> spread, double width, double end);
/// The same of a blur that is symmetric, with its sign: what is in phase with the edge. Noise is as
/// often below 0 as above, where a modulus adds it up at all frequencies at which little is left.
FrequencyCurve TransformSymmetric(std::span<const double> spread, double width, double end);

struct Level {
  double mean = 0, error = 0;  // of the mean
};
/// Of values from one distance to another; 0 where there are fewer than two.
Level LevelBetween(std::span<const DistanceValue> values, double from, double to);

/// An edge that noise hides. INVALID_ARGUMENT unless the contrast is 20 times its standard error.
absl::Status CheckContrast(const Level& inside, const Level& outside);

}  // namespace isocenter::quality
