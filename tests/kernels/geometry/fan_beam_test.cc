#include "kernels/geometry/fan_beam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/units.h"

namespace isocenter {
namespace {

using testing::HasSubstr;

FanBeamGeometry Arc() {
  return {.detector = FanBeamGeometry::Detector::kArc,
          .source_to_axis_mm = 595,
          .channels = 736,
          .channel_angle = DegreesToRadians(0.0679),
          .central_channel = 367.75,
          .views = 1152,
          .arc = 2 * kPi};
}

FanBeamGeometry Flat() {
  return {.detector = FanBeamGeometry::Detector::kFlat,
          .source_to_axis_mm = 410.66,
          .source_to_detector_mm = 553.74,
          .channels = 560,
          .channel_pitch_mm = 0.2,
          .central_channel = 279.5,
          .views = 720,
          .arc = -2 * kPi};
}

// The refusal of what `change` makes of a legal geometry.
template <class Change>
std::string Refusal(FanBeamGeometry geometry, Change change) {
  EXPECT_TRUE(ValidateFanBeam(geometry).ok()) << ValidateFanBeam(geometry);
  change(geometry);
  const absl::Status status = ValidateFanBeam(geometry);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(FanBeam, RefusesWhatIsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Refusal(Arc(), [&](auto& g) { g.source_to_axis_mm = nan; }),
              HasSubstr("source_to_axis_mm is nan; legal is 0.001 to 100000"));
  EXPECT_THAT(Refusal(Arc(), [](auto& g) { g.channels = 1; }), HasSubstr("channels is 1; legal"));
  EXPECT_THAT(Refusal(Arc(), [](auto& g) { g.channel_angle = 0; }),
              HasSubstr("channel_angle is 0"));
  EXPECT_THAT(Refusal(Arc(), [](auto& g) { g.channel_angle *= 3; }), HasSubstr("at most 60"));
  EXPECT_THAT(Refusal(Arc(), [](auto& g) { g.central_channel = 100; }),
              HasSubstr("central_channel is 100"));
  EXPECT_THAT(Refusal(Arc(), [](auto& g) { g.views = 3; }), HasSubstr("views is 3"));
  EXPECT_THAT(Refusal(Arc(), [](auto& g) { g.arc = kPi; }), HasSubstr("cover 180 degrees"));
  EXPECT_THAT(Refusal(Arc(), [](auto& g) { g.arc = 2.01 * kPi; }), HasSubstr("to 360"));
  EXPECT_THAT(Refusal(Arc(), [&](auto& g) { g.first_angle = nan; }), HasSubstr("first_angle"));
  EXPECT_THAT(Refusal(Flat(), [](auto& g) { g.source_to_detector_mm = 0; }),
              HasSubstr("source_to_detector_mm is 0"));
  EXPECT_THAT(Refusal(Flat(), [](auto& g) { g.channel_pitch_mm = -1; }),
              HasSubstr("channel_pitch_mm is -1"));
}

TEST(FanBeam, ShortestArcIsHalfATurnAndTheFan) {
  FanBeamGeometry g = Arc();
  const double fan = 2 * std::abs(g.FanAngle(0));
  g.arc = kPi + fan;
  EXPECT_TRUE(ValidateFanBeam(g).ok());
  g.arc = kPi + fan - 1e-4;
  EXPECT_FALSE(ValidateFanBeam(g).ok());
}

TEST(FanBeam, FieldOfViewEndsAtTheNearerSide) {
  EXPECT_NEAR(FanBeamFieldOfViewRadius(Arc()), 595 * std::sin(367.25 * DegreesToRadians(0.0679)),
              1e-9);
  // 279.5 pixels of 0.2 mm at 553.74 mm.
  EXPECT_NEAR(FanBeamFieldOfViewRadius(Flat()), 410.66 * 55.9 / std::hypot(55.9, 553.74), 1e-9);
  EXPECT_NEAR(Flat().ChannelAtAxisMm(), 0.2 * 410.66 / 553.74, 1e-12);
}

std::vector<double> AllWeights(const FanBeamGeometry& g) {
  std::vector<double> weights(static_cast<size_t>(g.views) * g.channels);
  for (int view = 0; view < g.views; ++view) {
    FanBeamRedundancy(g, view, std::span(weights).subspan(size_t(view) * g.channels, g.channels));
  }
  return weights;
}

// Linear in view and channel; the weights are smooth but at their corners.
double At(const FanBeamGeometry& g, const std::vector<double>& w, double view, double channel) {
  const int i = static_cast<int>(view), c = static_cast<int>(channel);
  const double a = view - i, b = channel - c;
  const auto at = [&](int y, int x) { return w[static_cast<size_t>(y) * g.channels + x]; };
  return (1 - a) * ((1 - b) * at(i, c) + b * at(i, c + 1)) +
         a * ((1 - b) * at(i + 1, c) + b * at(i + 1, c + 1));
}

// In either direction of rotation, with overscan or without: every line counts once.
TEST(FanBeam, ConjugateRaysCountOnce) {
  for (const double arc : {1.0, -1.0, 1.3, -1.3}) {
    FanBeamGeometry g = Arc();
    g.central_channel = 367.5;
    g.arc = arc * (kPi + 2 * std::abs(g.FanAngle(0)) + 0.02);
    ASSERT_TRUE(ValidateFanBeam(g).ok());
    const std::vector<double> w = AllWeights(g);
    int pairs = 0;
    for (int view = 0; view < g.views; view += 7) {
      for (int channel = 5; channel < 731; channel += 31) {
        const double gamma = g.FanAngle(channel);
        // Between views, where the weights rise within few of them, interpolation is off by 0.2 %.
        // The same line from the other side: β' = β + 2γ ± π, γ' = -γ.
        double sum = w[static_cast<size_t>(view) * g.channels + channel];
        for (const double turn : {kPi, -kPi}) {
          const double other = view + (2 * gamma + turn) / g.AngularStep();
          if (other < 0 || other >= g.views - 1) continue;
          sum += At(g, w, other, 735.0 - channel);
          ++pairs;
        }
        ASSERT_NEAR(sum, 1, 5e-3) << arc << " " << view << " " << channel;
      }
    }
    EXPECT_GT(pairs, 100);
  }
}

TEST(FanBeam, AFullScanCountsEveryLineHalf) {
  for (const double weight : AllWeights(Flat())) ASSERT_EQ(weight, 0.5);
}

}  // namespace
}  // namespace isocenter
