#include "kernels/phantom/fan_beam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/phantom/composite_phantom.h"

namespace isocenter::phantom {
namespace {

FanBeamGeometry Geometry(FanBeamGeometry::Detector detector) {
  return {.detector = detector,
          .source_to_axis_mm = 500,
          .source_to_detector_mm = 1000,
          .channels = 201,
          .channel_angle = 0.002,
          .channel_pitch_mm = 2,
          .central_channel = 100.25,
          .views = 8,
          .first_angle = 0.2,
          .arc = 2 * kPi};
}

std::vector<float> Project(const Phantom& phantom, const FanBeamGeometry& g, int subsamples) {
  ThreadPool pool(2);
  std::vector<float> lines(static_cast<size_t>(g.views) * g.channels);
  ProjectFanBeam(phantom, g, 0, subsamples, pool, {lines.data(), {g.views, 1, g.channels}});
  return lines;
}

// A cylinder of 30 mm at (20, 60): its chord at the distance of the ray from its middle, which
// comes from the frame of the view and not from the ray's direction.
TEST(FanBeamProjection, MeasuresChords) {
  const CompositePhantom disc({{Body(Body::Shape::kCylinder, {20, 60, 0}, {30, 30, 100}), 0.01}},
                              CompositePhantom::Overlap::kAdd);
  for (const auto detector : {FanBeamGeometry::Detector::kArc, FanBeamGeometry::Detector::kFlat}) {
    const FanBeamGeometry g = Geometry(detector);
    const std::vector<float> lines = Project(disc, g, 1);
    int hit = 0;
    for (int view = 0; view < g.views; ++view) {
      const double beta = g.Angle(view);
      const double x = 20 * std::cos(beta) + 60 * std::sin(beta);
      const double y = 60 * std::cos(beta) - 20 * std::sin(beta);
      for (int channel = 0; channel < g.channels; ++channel) {
        const double gamma = std::atan2(x, 500 - y) - g.FanAngle(channel);
        const double off = std::hypot(x, 500 - y) * std::sin(gamma);
        const double chord = std::abs(off) < 30 ? 2 * std::sqrt(900 - off * off) : 0;
        ASSERT_NEAR(lines[view * g.channels + channel], 0.01 * chord, 1e-5) << view << channel;
        if (chord > 0) ++hit;
      }
    }
    EXPECT_GT(hit, 100);
  }
}

// A wide channel measures the mean over its width: thin wires keep their mass wherever they fall.
TEST(FanBeamProjection, ChannelsHaveWidth) {
  const CompositePhantom wire({{Body(Body::Shape::kCylinder, {0.3, 0, 0}, {0.2, 0.2, 100}), 1}},
                              CompositePhantom::Overlap::kAdd);
  const FanBeamGeometry g = Geometry(FanBeamGeometry::Detector::kArc);
  const std::vector<float> lines = Project(wire, g, 100);
  for (int view = 0; view < g.views; ++view) {
    double mass = 0;
    for (int channel = 0; channel < g.channels; ++channel) mass += lines[view * 201 + channel];
    // Its area over the channels' distance at the axis, 1 mm; 10 rays cross it.
    EXPECT_NEAR(mass, kPi * 0.04, 0.05 * kPi * 0.04) << view;
  }
}

TEST(FanBeamProjection, RodsAreWhereTheyAreSaidToBe) {
  const auto rods = MakeRodPhantom(0.02);
  EXPECT_DOUBLE_EQ(rods->Attenuation({0, 0, 0}), 0.02);
  EXPECT_DOUBLE_EQ(rods->Attenuation({-45, 45, 0}), 1.955 * 0.02);
  EXPECT_DOUBLE_EQ(rods->Attenuation({45, 45, 0}), 0.905 * 0.02);
  EXPECT_DOUBLE_EQ(rods->Attenuation({45, -45, 0}), 1.12 * 0.02);
  EXPECT_DOUBLE_EQ(rods->Attenuation({-45, -45, 0}), 0);
  EXPECT_DOUBLE_EQ(rods->Attenuation({0, 101, 0}), 0);
}

}  // namespace
}  // namespace isocenter::phantom
