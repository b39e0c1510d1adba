// What is known before the rows of how those that the detector cuts are prepared.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ops/operations.h"

namespace isocenter::cpu {

/// ops::Truncation as sums with fixed weights.
struct CutRowsPlan {
  ops::Truncation truncation = ops::Truncation::kNone;
  int64_t columns = 0;
  int64_t extension = 0;
  std::vector<float> fade;       // kMirror: of each pixel, from the edge outwards
  std::vector<float> curvature;  // kCylinder: of the square of each pixel, from the edge inwards
  /// kCylinder: of what the square of each pixel behind the edge has more than the edge's.
  std::vector<float> slope;
  float slope_of_curvature = 0;  // what a curvature of 1 adds to the slope

  /// kCylinder: orthogonal polynomials of the first and second order over the pixels that the row's
  /// fit takes, from the pixel ops::RowFitMargin on. Of unit sum of squares; empty: no such fit.
  std::vector<float> first, second;
  /// At the right edge, their values and how they change per pixel beyond it; at the left one the
  /// first order has the other sign.
  float first_edge = 0, first_slope = 0, second_edge = 0, second_slope = 0, second_curvature = 0;
};

CutRowsPlan MakeCutRowsPlan(const ops::RampFilterSpec& spec);

}  // namespace isocenter::cpu
