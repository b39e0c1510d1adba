// The reference fan-beam operations against values computed by hand and against an object whose
// attenuation is known.
#include "kernels/phantom/fan_beam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/base/units.h"
#include "tests/kernels/reference/reference_backend.h"
#include "tests/opened_session.h"

namespace isocenter {
namespace {

using ops::StackUse;
using testing::HasSubstr;

constexpr double kWater = 0.02;

using Reference = ReferenceBackend;

FanBeamGeometry SmallArc() {
  return {.source_to_axis_mm = 100,
          .channels = 5,
          .channel_angle = 0.01,
          .central_channel = 2,
          .views = 4,
          .arc = 2 * kPi};
}

FanBeamGeometry SmallFlat() {
  FanBeamGeometry g = SmallArc();
  g.detector = FanBeamGeometry::Detector::kFlat;
  g.source_to_detector_mm = 150;
  g.channel_pitch_mm = 1.5;
  return g;
}

TEST_F(Reference, FanBeamFilterByHand) {
  auto in = Filled({1, 1, 5}, {0, 0, 1, 0, 0}, StackUse::kLineIntegrals);
  auto out = Filled({1, 1, 5}, {9, 9, 9, 9, 9}, StackUse::kLineIntegrals);
  const auto filtered = [&](const FanBeamGeometry& geometry, ops::FanBeamKernelForm form) {
    auto op = *(*registry_.fan_beam_filter.Find("reference"))(*session_,
                                                              {.geometry = geometry, .form = form});
    EXPECT_TRUE(op->Run(1, *in, *out).ok());
    std::vector<float> row(5);
    EXPECT_TRUE(out->Download(0, HostView3<float>(row.data(), {1, 1, 5})).ok());
    return row;
  };
  // The weight of the middle channel: ½·Δβ·D·cos 0 = ½·π/2·100.
  const double weight = kPi / 4 * 100;
  std::vector<float> row = filtered(SmallArc(), ops::FanBeamKernelForm::kExact);
  EXPECT_NEAR(row[2], weight / 0.04, 1e-4 * weight);
  EXPECT_NEAR(row[3], -weight * 0.01 / std::pow(kPi * std::sin(0.01), 2), 1e-4 * weight);
  EXPECT_EQ(row[4], 0);
  // Flat: 1 mm at the axis, without D.
  row = filtered(SmallFlat(), ops::FanBeamKernelForm::kExact);
  EXPECT_NEAR(row[2], kPi / 4 / 4, 1e-6);
  EXPECT_NEAR(row[1], -kPi / 4 / (kPi * kPi), 1e-6);
  // |ρ| = |f| / (16 mm) at 16 frequencies: Σ|f| = 64.
  row = filtered(SmallFlat(), ops::FanBeamKernelForm::kSampledRamp);
  EXPECT_NEAR(row[2], kPi / 4 * 64 / 256, 1e-6);
  EXPECT_NEAR(row[1], -kPi / 4 / std::pow(16 * std::sin(kPi / 16), 2), 1e-6);
  EXPECT_NEAR(row[0], 0, 1e-7);
}

TEST_F(Reference, FanBeamBackprojectsByHand) {
  auto stack = Filled({1, 1, 5}, {10, 20, 30, 40, 50}, StackUse::kLineIntegrals);
  auto op = *(*registry_.fan_beam_backproject.Find("reference"))(*session_);
  const auto at = [&](const FanBeamGeometry& geometry, int view, Vec3 point) {
    auto volume = *session_->NewVolume({.nx = 1, .ny = 1, .nz = 1, .origin = point});
    const absl::Status status = op->Run(geometry, view, *stack, *volume);
    EXPECT_TRUE(status.ok()) << status;
    float value = -1;
    EXPECT_TRUE(volume->Download(0, HostView3<float>(&value, {1, 1, 1})).ok());
    return value;
  };
  // β = 0, source at (0, 100): (1.5, 50) lies 50 mm in front of it, 0.03 off: channel 5.
  const double gamma = std::atan(1.5 / 50);
  EXPECT_NEAR(at(SmallArc(), 0, {0, 0, 0}), 30e-4, 1e-8);
  EXPECT_NEAR(at(SmallArc(), 0, {0.25, 50, 0}),
              (30 + 10 * std::atan(0.005) / 0.01) / (2500 + 0.0625), 1e-7);
  EXPECT_NEAR(at(SmallArc(), 0, {1.25, 50, 0}),
              50 * (1 - (std::atan(0.025) / 0.01 - 2)) / (2500 + 1.5625), 1e-7);
  EXPECT_EQ(at(SmallArc(), 0, {50 * std::tan(gamma + 0.001), 50, 0}), 0);
  EXPECT_EQ(at(SmallArc(), 0, {0, 100, 0}), 0);
  EXPECT_EQ(at(SmallArc(), 0, {0, 150, 0}), 0);
  // β = π/2, source at (-100, 0): x' = y, and (0, 1) is on the side of growing channels.
  EXPECT_NEAR(at(SmallArc(), 1, {0, 1, 0}), (30 + 10 * std::atan(0.01) / 0.01) / 10001, 1e-7);
  // Flat: (0.25, 50) is magnified threefold, 0.75 mm or half a channel; D²/U² = 4.
  EXPECT_NEAR(at(SmallFlat(), 0, {0.25, 50, 0}), 35 * 4, 1e-4);
}

TEST_F(Reference, FanBeamRefusesWhatDoesNotFit) {
  auto stack = Filled({2, 1, 5}, std::vector<float>(10, 1), StackUse::kLineIntegrals);
  auto narrow = Filled({2, 1, 4}, std::vector<float>(8, 1), StackUse::kLineIntegrals);
  auto volume = *session_->NewVolume({.nx = 2, .ny = 2, .nz = 1});
  auto thick = *session_->NewVolume({.nx = 2, .ny = 2, .nz = 2});
  auto inclined =
      *session_->NewVolume({.nx = 2, .ny = 2, .nz = 1, .direction = {1, 0, 0, 0, 0, -1, 0, 1, 0}});
  auto op = *(*registry_.fan_beam_backproject.Find("reference"))(*session_);
  EXPECT_TRUE(op->Run(SmallArc(), 2, *stack, *volume).ok());
  const auto message = [](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message(op->Run(SmallArc(), 3, *stack, *volume)), HasSubstr("views 3 to 4"));
  EXPECT_THAT(message(op->Run(SmallArc(), -1, *stack, *volume)), HasSubstr("views -1 to 0"));
  EXPECT_THAT(message(op->Run(SmallArc(), 0, *narrow, *volume)), HasSubstr("a stack of 4 columns"));
  EXPECT_THAT(message(op->Run(SmallArc(), 0, *stack, *thick)), HasSubstr("a grid of 2 slices"));
  EXPECT_THAT(message(op->Run(SmallArc(), 0, *stack, *inclined)), HasSubstr("inclined"));
  FanBeamGeometry short_arc = SmallArc();
  short_arc.arc = 1;
  EXPECT_THAT(message(op->Run(short_arc, 0, *stack, *volume)), HasSubstr("cover 57.29"));
  const auto make = *registry_.fan_beam_filter.Find("reference");
  EXPECT_THAT(message(make(*session_, {.geometry = SmallArc(), .slices = 0}).status()),
              HasSubstr("legal is 1 to 65536"));
  EXPECT_THAT(message(make(*session_, {.geometry = SmallArc(),
                                       .form = ops::FanBeamKernelForm::kSampledRamp,
                                       .window = ops::FilterWindow::kHann})
                          .status()),
              HasSubstr("no window"));
}

// Means of a rod phantom's regions, relative to water.
class RodPhantom : public Reference {
 protected:
  struct Means {
    double middle, bone, acrylic, air, outside;
  };
  Means Reconstructed(const FanBeamGeometry& g, ops::FanBeamKernelForm form) {
    EXPECT_TRUE(ValidateFanBeam(g).ok()) << ValidateFanBeam(g);
    ThreadPool pool(2);
    std::vector<float> lines(static_cast<size_t>(g.views) * g.channels);
    phantom::ProjectFanBeam(*phantom::MakeRodPhantom(kWater), g, 0, 3, pool,
                            {lines.data(), {g.views, 1, g.channels}});
    auto stack = Filled({g.views, 1, g.channels}, lines, StackUse::kLineIntegrals);
    auto filter =
        *(*registry_.fan_beam_filter.Find("reference"))(*session_, {.geometry = g, .form = form});
    EXPECT_TRUE(filter->Run(0, *stack, *stack).ok());
    auto volume = *session_->NewVolume(CenteredGrid(kSize, kSize, 1, {2, 2, 1}));
    auto back = *(*registry_.fan_beam_backproject.Find("reference"))(*session_);
    EXPECT_TRUE(back->Run(g, 0, *stack, *volume).ok());
    image_.resize(kSize * kSize);
    EXPECT_TRUE(volume->Download(0, HostView3<float>(image_.data(), {1, kSize, kSize})).ok());
    return {Mean(0, 0), Mean(-45, 45), Mean(45, -45), Mean(-45, -45), Mean(0, 106)};
  }

 private:
  static constexpr int kSize = 110;
  double Mean(double x, double y) const {
    double sum = 0;
    const int i0 = static_cast<int>(x / 2 + kSize / 2), j0 = static_cast<int>(y / 2 + kSize / 2);
    for (int j = j0 - 2; j < j0 + 2; ++j) {
      for (int i = i0 - 2; i < i0 + 2; ++i) sum += image_[j * kSize + i];
    }
    return sum / 16 / kWater;
  }
  std::vector<float> image_;
};

FanBeamGeometry Scan(FanBeamGeometry::Detector detector, double arc) {
  FanBeamGeometry g{.detector = detector,
                    .source_to_axis_mm = 500,
                    .source_to_detector_mm = 900,
                    .channels = 240,
                    .channel_angle = 0.0021,
                    .channel_pitch_mm = 1.9,
                    .central_channel = 119.75,
                    .views = 240};
  g.first_angle = 0.3;
  g.arc = arc;
  return g;
}

// Half a percent: 240 channels of 1 mm and 240 views, means of 16 pixels.
constexpr double kTolerance = 0.005;

TEST_F(RodPhantom, IsReconstructedOnEveryDetectorAndArc) {
  using Detector = FanBeamGeometry::Detector;
  const double shortest = kPi + 2 * 0.26;
  for (const Detector detector : {Detector::kArc, Detector::kFlat}) {
    for (const double arc : {2 * kPi, -2 * kPi, shortest, -shortest, 1.7 * kPi}) {
      const Means means = Reconstructed(Scan(detector, arc), ops::FanBeamKernelForm::kExact);
      SCOPED_TRACE(testing::Message() << static_cast<int>(detector) << " " << arc);
      EXPECT_NEAR(means.middle, 1, kTolerance);
      EXPECT_NEAR(means.bone, 1.955, 2 * kTolerance);
      EXPECT_NEAR(means.acrylic, 1.12, kTolerance);
      EXPECT_NEAR(means.air, 0, 2 * kTolerance);
      EXPECT_NEAR(means.outside, 0, kTolerance);
    }
  }
}

// The sampled ramp of a padded row is the kernel of an arc of other channels: not quantitative.
TEST_F(RodPhantom, SampledRampIsOffByPercents) {
  const FanBeamGeometry g = Scan(FanBeamGeometry::Detector::kArc, 2 * kPi);
  const Means means = Reconstructed(g, ops::FanBeamKernelForm::kSampledRamp);
  EXPECT_NEAR(means.middle, 1, 0.1);
  EXPECT_GT(std::abs(means.middle - 1), kTolerance);
}

}  // namespace
}  // namespace isocenter
