#include "kernels/geometry/tangent_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter {
namespace {

FanBeamGeometry Arc(int channels, double channel_angle, double offset) {
  return {.detector = FanBeamGeometry::Detector::kArc,
          .source_to_axis_mm = 500,
          .channels = channels,
          .channel_angle = channel_angle,
          .central_channel = 0.5 * (channels - 1) + offset,
          .views = 100,
          .arc = 2 * kPi};
}

TEST(TangentRows, ElementsAreAtEqualStepsOfTheTangent) {
  const FanBeamGeometry arc = Arc(736, DegreesToRadians(0.0679), 0.25);
  for (const int per_channel : {1, 4, 16}) {
    const TangentRows rows = MakeTangentRows(arc, per_channel);
    EXPECT_NEAR(rows.positions.front(), -1, 1e-9);
    EXPECT_GE(rows.positions.back(), arc.channels);
    EXPECT_LT(rows.positions[rows.positions.size() - 2], arc.channels);
    for (int i = 0; i < rows.count(); ++i) {
      EXPECT_NEAR(std::tan(arc.FanAngle(rows.positions[static_cast<size_t>(i)])),
                  rows.first + i * rows.step, 1e-12);
    }
    // Never further apart than in the middle, but for the third order of a step around it.
    for (size_t i = 1; i < rows.positions.size(); ++i) {
      EXPECT_LE(rows.positions[i] - rows.positions[i - 1], 1.0 / per_channel + 1e-6);
    }
  }
}

TEST(TangentRows, NoFanHasMoreElementsThanAreStated) {
  for (const double angle : {1e-4, 0.01, 0.05, 0.1}) {
    for (const double offset : {-1.0, 0.0, 1.0}) {
      // As wide as a fan may be.
      const int channels = std::min(65536, 1 + 2 * static_cast<int>((kPi / 3) / angle - 1));
      const FanBeamGeometry arc = Arc(channels, angle, offset);
      ASSERT_TRUE(ValidateFanBeam(arc).ok()) << ValidateFanBeam(arc);
      for (const int per_channel : {1, 16}) {
        EXPECT_LE(MakeTangentRows(arc, per_channel).count(),
                  MostTangentElements(channels, per_channel));
      }
    }
  }
}

}  // namespace
}  // namespace isocenter
