#include "kernels/physics/detector_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace isocenter::physics {
namespace {

using testing::HasSubstr;

constexpr Detector kDetector{.columns = 300, .rows = 200, .pitch_u_mm = 0.4, .pitch_v_mm = 0.4};
constexpr double kPixels = 300 * 200;

struct Moments {
  double mean = 0, deviation = 0;
};

Moments Measure(const std::vector<double>& values) {
  Moments moments;
  const double n = static_cast<double>(values.size());
  for (double x : values) moments.mean += x / n;
  for (double x : values) moments.deviation += (x - moments.mean) * (x - moments.mean) / n;
  moments.deviation = std::sqrt(moments.deviation);
  return moments;
}

int64_t Count(const DetectorMaps& maps, PixelState state) {
  return std::count(maps.states.begin(), maps.states.end(), state);
}

TEST(DetectorModel, IsPerfectByDefault) {
  const DetectorMaps maps = MakeDetectorMaps({}, kDetector);
  EXPECT_THAT(maps.offset_counts, testing::Each(0));
  EXPECT_THAT(maps.gain, testing::Each(1));
  EXPECT_EQ(Count(maps, PixelState::kGood), kPixels);
  EXPECT_THAT(FrameDoses({}, 5), testing::Each(1));
}

// Standard errors of n samples: σ/√n of a mean, σ/√(2n) of a deviation; five are allowed.
TEST(DetectorModel, MapsHaveTheirMoments) {
  const DetectorModel model{.offset_counts = 1000, .offset_spread_counts = 40, .gain_spread = 0.05};
  const DetectorMaps maps = MakeDetectorMaps(model, kDetector);
  const Moments offset = Measure(maps.offset_counts), gain = Measure(maps.gain);
  EXPECT_NEAR(offset.mean, 1000, 5 * 40 / std::sqrt(kPixels));
  EXPECT_NEAR(offset.deviation, 40, 5 * 40 / std::sqrt(2 * kPixels));
  EXPECT_NEAR(gain.mean, 1, 5 * 0.05 / std::sqrt(kPixels));
  // What is beyond three deviations is put there: 0.9933² of the variance is left.
  EXPECT_NEAR(gain.deviation, 0.05 * 0.9933 + 0.0001, 5 * 0.05 / std::sqrt(2 * kPixels));
  EXPECT_GE(*std::min_element(maps.gain.begin(), maps.gain.end()), 0.85 - 1e-12);
}

TEST(DetectorModel, TheSeedDecides) {
  DetectorModel model{.offset_counts = 1000,
                      .offset_spread_counts = 40,
                      .gain_spread = 0.05,
                      .defective_pixels = 0.01,
                      .dead_lines = 2,
                      .dead_clusters = 3,
                      .dose_flicker = 0.2,
                      .seed = 5};
  const DetectorMaps one = MakeDetectorMaps(model, kDetector);
  const DetectorMaps same = MakeDetectorMaps(model, kDetector);
  EXPECT_EQ(one.offset_counts, same.offset_counts);
  EXPECT_EQ(one.gain, same.gain);
  EXPECT_EQ(one.states, same.states);
  EXPECT_EQ(FrameDoses(model, 9), FrameDoses(model, 9));
  const std::vector<double> doses = FrameDoses(model, 9);
  model.seed = 6;
  const DetectorMaps other = MakeDetectorMaps(model, kDetector);
  EXPECT_NE(one.offset_counts, other.offset_counts);
  EXPECT_NE(one.gain, other.gain);
  EXPECT_NE(one.states, other.states);
  EXPECT_NE(doses, FrameDoses(model, 9));
}

// The same on every machine: the first numbers of seed 1, as they came out where this was written.
TEST(DetectorModel, DrawsTheSameEverywhere) {
  const DetectorModel model{.gain_spread = 0.05, .dose_flicker = 0.2};
  const DetectorMaps maps = MakeDetectorMaps(model, kDetector);
  EXPECT_NEAR(maps.gain[0], 1.03162472385032, 1e-12);
  EXPECT_NEAR(maps.gain[59999], 0.996278322702448, 1e-12);
  EXPECT_NEAR(FrameDoses(model, 3)[2], 0.879649877214821, 1e-12);
}

TEST(DetectorModel, HalfOfTheDefectivePixelsAreHot) {
  const DetectorMaps maps = MakeDetectorMaps({.defective_pixels = 0.02}, kDetector);
  const double expected = 0.01 * kPixels, error = 5 * std::sqrt(expected);
  EXPECT_NEAR(static_cast<double>(Count(maps, PixelState::kDead)), expected, error);
  EXPECT_NEAR(static_cast<double>(Count(maps, PixelState::kHot)), expected, error);
}

TEST(DetectorModel, LinesAreWhole) {
  std::set<int64_t> lengths;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const DetectorMaps maps = MakeDetectorMaps({.dead_lines = 1, .seed = seed}, kDetector);
    lengths.insert(Count(maps, PixelState::kDead));
    const auto first = std::find(maps.states.begin(), maps.states.end(), PixelState::kDead);
    const auto at = first - maps.states.begin();
    EXPECT_TRUE(at < 300 || at % 300 == 0) << "a column begins above, a row at the left";
  }
  EXPECT_EQ(lengths, (std::set<int64_t>{200, 300}));
}

TEST(DetectorModel, ClustersAreDiscs) {
  const DetectorMaps maps =
      MakeDetectorMaps({.dead_clusters = 5, .cluster_radius_px = 4, .seed = 3}, kDetector);
  const auto dead = Count(maps, PixelState::kDead);
  EXPECT_GT(dead, 5 * 0.4 * 50);  // 50 pixels each; some at the border or on each other
  EXPECT_LT(dead, 5 * 1.2 * 50);
}

TEST(DetectorModel, DosesStayInTheirBounds) {
  const std::vector<double> doses = FrameDoses({.dose_flicker = 0.2}, 1000);
  EXPECT_NEAR(*std::min_element(doses.begin(), doses.end()), 0.8, 0.005);
  EXPECT_NEAR(*std::max_element(doses.begin(), doses.end()), 1.2, 0.005);
  const std::vector<double> swing = FrameDoses({.dose_swing = 0.1}, 100);
  EXPECT_NEAR(swing[25], 1.1, 1e-12);
  EXPECT_NEAR(swing[75], 0.9, 1e-12);
}

TEST(DetectorModel, RefusesWhatNoDetectorIs) {
  const auto error = [](const std::function<void(DetectorModel&)>& change) {
    DetectorModel model;
    change(model);
    return std::string(ValidateDetectorModel(model).message());
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_EQ(error([](auto& m) { m.gain_spread = 0.31; }),
            "detector.gain_spread is 0.31; legal is 0 to 0.3");
  EXPECT_THAT(error([](auto& m) { m.signal_counts = 0; }), HasSubstr("legal is 1 to 65535"));
  EXPECT_THAT(error([](auto& m) { m.photons = -1; }), HasSubstr("detector.photons is -1"));
  EXPECT_THAT(error([](auto& m) { m.photons = std::nan(""); }), HasSubstr("photons is nan"));
  EXPECT_THAT(error([](auto& m) { m.electronic_counts = 1e5; }), HasSubstr("electronic_counts"));
  EXPECT_THAT(error([](auto& m) { m.saturation_counts = 70000; }), HasSubstr("saturation_counts"));
  EXPECT_THAT(error([](auto& m) { m.offset_counts = -1; }), HasSubstr("offset_counts"));
  EXPECT_THAT(error([](auto& m) { m.offset_spread_counts = -1; }), HasSubstr("offset_spread"));
  EXPECT_THAT(error([](auto& m) { m.defective_pixels = 0.06; }), HasSubstr("0 to 0.05"));
  EXPECT_THAT(error([](auto& m) { m.dead_lines = -1; }), HasSubstr("dead_lines is -1"));
  EXPECT_THAT(error([](auto& m) { m.dead_clusters = 1001; }), HasSubstr("0 to 1000"));
  EXPECT_THAT(error([](auto& m) { m.cluster_radius_px = 0; }), HasSubstr("0.5 to 20"));
  EXPECT_THAT(error([](auto& m) { m.glare_share = 0.6; }), HasSubstr("glare_share"));
  EXPECT_THAT(error([](auto& m) { m.glare_length_mm = 0; }), HasSubstr("glare_length_mm"));
  EXPECT_THAT(error([](auto& m) { m.dose_flicker = 0.21; }), HasSubstr("0 to 0.2"));
  EXPECT_THAT(error([](auto& m) { m.dose_swing = -0.1; }), HasSubstr("dose_swing is -0.1"));
  EXPECT_THAT(error([](auto& m) { m.lag = {{0.6, 0.5}}; }), HasSubstr("lag.share is 0.6"));
  EXPECT_THAT(error([](auto& m) { m.lag = {{0.1, 0}}; }), HasSubstr("lag.release is 0"));
  EXPECT_THAT(error([](auto& m) { m.lag.resize(9); }), HasSubstr("number of terms is 9"));
  EXPECT_THAT(error([](auto& m) { m.lag = {{0.5, 1}, {0.5, 1}}; }), HasSubstr("sum of its shares"));
}

}  // namespace
}  // namespace isocenter::physics
