#include "kernels/physics/readout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/physics/glare.h"

namespace isocenter::physics {
namespace {

constexpr Detector kDetector{.columns = 200, .rows = 150, .pitch_u_mm = 0.4, .pitch_v_mm = 0.5};
constexpr int kPixels = 200 * 150;

std::vector<Reading> Flat(double signal = 1, double variance = 1) {
  return std::vector<Reading>(kPixels, {signal, variance});
}

std::vector<uint16_t> Read(Readout& readout, const std::vector<Reading>& readings, double dose = 1,
                           int threads = 2) {
  ThreadPool pool(threads);
  std::vector<uint16_t> counts(kPixels);
  readout.Expose(readings, dose, pool, counts);
  return counts;
}

double Mean(const std::vector<uint16_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0) / kPixels;
}

double Variance(const std::vector<uint16_t>& counts) {
  const double mean = Mean(counts);
  double sum = 0;
  for (uint16_t c : counts) sum += (c - mean) * (c - mean);
  return sum / kPixels;
}

TEST(Readout, OfAPerfectDetectorRoundsTheSignal) {
  Readout readout = Readout::Make({.signal_counts = 1000}, kDetector).value();
  std::vector<Reading> readings = Flat();
  readings[0].signal = 0.1234;
  readings[1].signal = 0.9996;
  readings[2].signal = 70;
  const auto counts = Read(readout, readings);
  EXPECT_EQ(counts[0], 123);
  EXPECT_EQ(counts[1], 1000);
  EXPECT_EQ(counts[2], 65535);
  EXPECT_EQ(counts[3], 1000);
  EXPECT_THAT(Read(readout, Flat(), 0.5), testing::Each(500));
  EXPECT_THAT(Read(readout, Flat(), 0), testing::Each(0));
}

// Mean and variance of what is counted: signal·counts·dose and counts²·dose·variance/photons. Of n
// pixels the standard errors are √(v/n) and v·√(2/n); five are allowed.
TEST(Readout, HasTheBeamsQuantumNoise) {
  Readout readout = Readout::Make({.signal_counts = 20000, .photons = 5000}, kDetector).value();
  const auto counts = Read(readout, Flat(0.6, 0.75), 0.8);
  const double variance = 20000.0 * 20000 * 0.8 * 0.75 / 5000 + 1.0 / 12;
  EXPECT_NEAR(Mean(counts), 0.6 * 0.8 * 20000, 5 * std::sqrt(variance / kPixels));
  EXPECT_NEAR(Variance(counts), variance, 5 * variance * std::sqrt(2.0 / kPixels));
}

TEST(Readout, HasElectronicNoiseInTheDark) {
  Readout readout =
      Readout::Make({.electronic_counts = 12, .offset_counts = 300}, kDetector).value();
  const auto counts = Read(readout, Flat(), 0);
  const double variance = 12 * 12 + 1.0 / 12;
  EXPECT_NEAR(Mean(counts), 300, 5 * std::sqrt(variance / kPixels));
  EXPECT_NEAR(Variance(counts), variance, 5 * variance * std::sqrt(2.0 / kPixels));
}

// Hot pixels saturate, dead ones read their offset, the others offset and gain times signal.
TEST(Readout, AppliesItsMaps) {
  const DetectorModel model{.signal_counts = 10000,
                            .saturation_counts = 15000,
                            .offset_counts = 500,
                            .offset_spread_counts = 20,
                            .gain_spread = 0.05,
                            .defective_pixels = 0.01,
                            .dead_lines = 1};
  Readout readout = Readout::Make(model, kDetector).value();
  const auto counts = Read(readout, Flat());
  const DetectorMaps& maps = readout.maps();
  for (int i = 0; i < kPixels; ++i) {
    double expected = maps.offset_counts[i] + maps.gain[i] * 10000;
    if (maps.states[i] == PixelState::kDead) expected = maps.offset_counts[i];
    if (maps.states[i] == PixelState::kHot) expected = 15000;
    ASSERT_NEAR(counts[i], expected, 0.5 + 1e-6) << i;
  }
  const auto overexposed = Read(readout, Flat(2));
  for (int i = 0; i < kPixels; ++i) {
    if (maps.states[i] != PixelState::kDead) {
      ASSERT_EQ(overexposed[i], 15000);
    }
  }
}

// One exposure comes out as Σ share·release·(1 - release)^(k-1) in the k-th frame after it, and
// after a long one, which fills what keeps it, as Σ share·(1 - release)^(k-1).
TEST(Readout, LagsAsASumOfExponentials) {
  const DetectorModel model{.signal_counts = 60000, .lag = {{0.04, 0.8}, {0.03, 0.1}}};
  Readout once = Readout::Make(model, kDetector).value();
  EXPECT_EQ(Read(once, Flat())[7], std::round(60000 * 0.93));
  double left = 0;
  for (int k = 1; k <= 100; ++k) {
    const uint16_t dark = Read(once, Flat(), 0)[7];
    ASSERT_NEAR(dark,
                60000 * (0.04 * 0.8 * std::pow(0.2, k - 1) + 0.03 * 0.1 * std::pow(0.9, k - 1)),
                0.501);
    left += dark;
  }
  EXPECT_NEAR(left, 60000 * 0.07, 30) << "all of it comes out";

  Readout steady = Readout::Make(model, kDetector).value();
  for (int i = 0; i < 200; ++i) Read(steady, Flat());
  EXPECT_EQ(Read(steady, Flat())[7], 60000) << "a steady signal is itself";
  for (int k = 1; k <= 20; ++k) {
    ASSERT_NEAR(Read(steady, Flat(), 0)[7],
                60000 * (0.04 * std::pow(0.2, k - 1) + 0.03 * std::pow(0.9, k - 1)), 0.501);
  }
}

// In a steady exposure of s the term holds q with release·q = share·s·(1 - q/capacity); the first
// dark frame after it reads release·q, a smaller share of a brighter exposure.
TEST(Readout, LagDependsOnExposureWhereItsCapacityEnds) {
  const auto first_dark = [](double dose) {
    Readout readout =
        Readout::Make({.signal_counts = 60000, .lag = {{0.05, 0.1, 20000}}}, kDetector).value();
    for (int i = 0; i < 120; ++i) Read(readout, Flat(), dose);
    EXPECT_EQ(Read(readout, Flat(), dose)[7], std::round(60000 * dose)) << "steady";
    return static_cast<double>(Read(readout, Flat(), 0)[7]);
  };
  const auto expected = [](double signal) {
    return 0.05 * signal / (1 + 0.05 * signal / (0.1 * 20000));
  };
  EXPECT_NEAR(first_dark(1), expected(60000), 0.51);
  EXPECT_NEAR(first_dark(0.1), expected(6000), 0.51);
  EXPECT_GT(first_dark(0.1) / 6000, 2 * first_dark(1) / 60000);
}

TEST(Readout, LagIsEachPixelsOwn) {
  Readout readout = Readout::Make({.signal_counts = 10000, .lag = {{0.1, 0.5}}}, kDetector).value();
  std::vector<Reading> readings = Flat(0);
  readings[1234].signal = 1;
  Read(readout, readings);
  const auto after = Read(readout, Flat(0));
  EXPECT_EQ(after[1234], 500);
  EXPECT_EQ(Mean(after) * kPixels, 500);
}

TEST(Readout, DoesNotDependOnThreadsButOnSeedAndFrame) {
  DetectorModel model{.photons = 1000,
                      .electronic_counts = 5,
                      .gain_spread = 0.05,
                      .lag = {{0.05, 0.5}},
                      .glare_share = 0.1,
                      .seed = 9};
  Readout one = Readout::Make(model, kDetector).value();
  Readout three = Readout::Make(model, kDetector).value();
  const auto first = Read(one, Flat(0.5), 1, 1);
  EXPECT_EQ(first, Read(three, Flat(0.5), 1, 3));
  const auto second = Read(one, Flat(0.5), 1, 1);
  EXPECT_EQ(second, Read(three, Flat(0.5), 1, 3));
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::equal(first.begin(), first.begin() + 200, first.begin() + 200)) << "rows";
  model.seed = 10;
  Readout other = Readout::Make(model, kDetector).value();
  EXPECT_NE(first, Read(other, Flat(0.5), 1, 3));
}

TEST(Readout, RefusesAModelThatIsNone) {
  EXPECT_THAT(Readout::Make({.gain_spread = 1}, kDetector).status().message(),
              testing::HasSubstr("detector.gain_spread is 1; legal is 0 to 0.3"));
}

// A point becomes the stated spread; what stays on the detector is what was there.
TEST(Glare, SpreadsAPoint) {
  ThreadPool pool(3);
  std::vector<double> pixels(kPixels);
  pixels[75 * 200 + 100] = 1;
  AddGlare(0.2, 2, kDetector, pool, pixels);
  const double au = std::exp(-0.4 / 2), av = std::exp(-0.5 / 2);
  const double middle = 0.2 * (1 - au) / (1 + au) * (1 - av) / (1 + av);
  EXPECT_NEAR(pixels[75 * 200 + 100], 0.8 + middle, 1e-12);
  EXPECT_NEAR(pixels[75 * 200 + 103], middle * std::pow(au, 3), 1e-12);
  EXPECT_NEAR(pixels[73 * 200 + 96], middle * std::pow(av, 2) * std::pow(au, 4), 1e-12);
  EXPECT_NEAR(std::accumulate(pixels.begin(), pixels.end(), 0.0), 1, 1e-6);
}

TEST(Glare, LosesWhatFallsBesideTheDetector) {
  ThreadPool pool(2);
  std::vector<double> pixels(kPixels, 1);
  AddGlare(0.2, 2, kDetector, pool, pixels);
  EXPECT_NEAR(pixels[75 * 200 + 100], 1, 1e-6);
  EXPECT_LT(pixels[0], 0.87);
  AddGlare(0, 2, kDetector, pool, pixels);
  EXPECT_LT(pixels[0], 0.87) << "no share, no change";
}

}  // namespace
}  // namespace isocenter::physics
