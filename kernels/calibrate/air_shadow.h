// What an object that was left in the empty beam leaves in the air map.
#pragma once

#include <optional>
#include <span>

#include "kernels/geometry/detector.h"

namespace isocenter::calibrate {

/// Least step between neighbouring blocks that is an object's (%). A clean map that simulated gains
/// of 5 %, a heel and bow-ties of 4:1 and 10:1 shape has steps of up to 1.3 % on 624 x 480 pixels
/// (docs/calibration.md).
inline constexpr double kLeastAirStepPercent = 2.5;
/// And so many standard deviations of what pixels' gains do to a step: of thousands of steps one
/// reaches five.
inline constexpr double kLeastAirStepSigmas = 6;

/// Where the air map departs from what its row and its column have in common, behind a steep edge.
struct AirShadow {
  double depth_percent = 0;  // negative: darker; the median of its blocks
  int first_column = 0, last_column = 0, first_row = 0, last_row = 0;  // pixels around it
  double share_percent = 0;                                            // of the detector's pixels
};

struct AirSteps {
  double largest_percent = 0, legal_percent = 0;
  std::optional<AirShadow> shadow;  // where the largest is not legal
};

/// Steps of ln(air), in medians of blocks, from which what rows and columns have in common was
/// taken by median polish (Tukey, Exploratory Data Analysis, 1977): a bow-tie depends on the
/// column, a heel on the row, a row's or a column's amplifiers on either, and an object's outline
/// on both. What covers more than half of each row or column that it is in is not seen. `air` is
/// [v][u] with defective pixels filled. Detectors below 40 x 40 pixels are not judged: 0.
AirSteps FindAirSteps(std::span<const float> air, const Detector& detector);

/// The same of how much each pixel's air changed within a sweep (1: not at all), of the
/// larger part of the detector; what rows and columns have in common counts, since heels, filters
/// and gains are in both halves. Legal is `legal_percent`, or what noise does.
AirSteps FindChangeSteps(std::span<const float> change, double legal_percent,
                         const Detector& detector);

}  // namespace isocenter::calibrate
