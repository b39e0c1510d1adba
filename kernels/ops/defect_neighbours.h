// The good pixels that stand in for defective ones, found once; for backends but the reference,
// which looks for itself.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/geometry/detector.h"
#include "kernels/ops/calibration.h"

namespace isocenter::ops {

/// Two good pixels on both sides of a defective one: what they stand for is
/// before_weight·p[before] + after_weight·p[after]. At the border, twice the same one.
struct DefectPair {
  int32_t before, after;  // v·columns + u
  float before_weight, after_weight;
  float inverse_square_length;  // of the distance between them, pixels
};

struct DefectNeighbours {
  std::vector<int32_t> pixels;      // the defective ones, as DefectMap has them
  std::vector<int32_t> first_pair;  // of each, and after the last one the number of pairs
  std::vector<DefectPair> pairs;    // up to 4 for each pixel
};

/// `defects` has passed CheckDefectMap: every pixel has a pair at least.
DefectNeighbours FindDefectNeighbours(const DefectMap& defects, const Detector& detector);

}  // namespace isocenter::ops
