#include "tests/conformance/transmissions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isocenter::conformance {

Array Transmissions(Shape3 shape, double darkest, uint32_t seed) {
  std::mt19937 random(seed);
  Array frames = Noise(shape, seed + 1);
  const auto width = static_cast<double>(shape.fast), height = static_cast<double>(shape.middle);
  for (int64_t view = 0; view < shape.slow; ++view) {
    const double x = Uniform(random, 0.3, 0.7) * width, y = Uniform(random, 0.3, 0.7) * height;
    const double radius = 0.35 * std::max(width, height);
    for (int64_t v = 0; v < shape.middle; ++v) {
      for (int64_t u = 0; u < shape.fast; ++u) {
        const double r = std::hypot(static_cast<double>(u) - x, static_cast<double>(v) - y);
        const double depth = std::sqrt(std::max(0.0, 1 - r * r / (radius * radius)));
        float& pixel = frames.values[(view * shape.middle + v) * shape.fast + u];
        pixel = static_cast<float>(std::pow(darkest, depth) * (1 + 0.02 * pixel));
      }
    }
  }
  return frames;
}

double LargestLineDifference(const Array& got, const Array& expected) {
  EXPECT_EQ(got.shape, expected.shape);
  double largest = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    EXPECT_GT(expected.values[i], 0);
    const double difference = std::abs(std::log(double{got.values[i]} / expected.values[i]));
    // A NaN must not pass for a small difference.
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

Detector DetectorOf(Shape3 frames) {
  return {.columns = static_cast<int>(frames.fast),
          .rows = static_cast<int>(frames.middle),
          .pitch_u_mm = 0.31,
          .pitch_v_mm = 0.47};
}

}  // namespace isocenter::conformance
