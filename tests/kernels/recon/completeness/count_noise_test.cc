#include "kernels/recon/completeness/count_noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kI0 = 50000;

struct Reading {
  double photons = 10000;  // of air
  double electronic_counts = 10;
  double gain_spread = 0;
  double flicker = 0;
  double pitch_mm = 1.5;
};

/// Of frames with the noise of photons, of which every count went through `table`.
std::string Told(const Reading& reading, const std::function<double(double)>& table) {
  EllipseScan scan(120, 200, {.a_mm = 90, .b_mm = 70, .x_mm = 15, .y_mm = 8}, 0);
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> gain;
  for (size_t i = 0; i < scan.frames[0].size(); ++i) {
    gain.push_back(1 + reading.gain_spread * normal(random));
  }
  scan.acquisition.detector.pitch_u_mm = reading.pitch_mm;
  CountNoise noise(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) {
    const double dose = 1 + reading.flicker * normal(random);
    for (size_t i = 0; i < gain.size(); ++i) {
      uint16_t& count = scan.frames[view][i];
      const double photons = dose * count / kI0 * reading.photons;
      const double counts =
          (photons + std::sqrt(photons) * normal(random)) * kI0 / reading.photons * gain[i] +
          reading.electronic_counts * normal(random);
      count =
          static_cast<uint16_t>(std::clamp(std::lround(table(std::max(0.0, counts))), 0L, 65535L));
    }
    noise.Add(view, scan.Rows(view));
  }
  return noise.Text().value_or("");
}

double AsIs(double counts) { return counts; }

TEST(CountNoise, OfPhotonsIsRight) {
  EXPECT_THAT(Told({}, AsIs), IsEmpty());
  EXPECT_THAT(Told({.photons = 300}, AsIs), IsEmpty());
  EXPECT_THAT(Told({.photons = 200000}, AsIs), IsEmpty());
  EXPECT_THAT(Told({.electronic_counts = 120}, AsIs), IsEmpty());
  EXPECT_THAT(Told({.gain_spread = 0.05}, AsIs), IsEmpty());
  EXPECT_THAT(Told({.gain_spread = 0.05, .flicker = 0.1}, AsIs), IsEmpty());
}

TEST(CountNoise, ThatIsAShareOfTheCountsIsNoPedestal) {
  const EllipseScan scan(120, 200, {}, 0.01);
  CountNoise noise(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) noise.Add(view, scan.Rows(view));
  EXPECT_EQ(noise.Text(), std::nullopt);
}

TEST(CountNoise, TellsSquareRootsTablesAndLogarithms) {
  EXPECT_THAT(Told({}, [](double c) { return std::sqrt(c * kI0); }),
              HasSubstr("Counts that went through a square root have 0"));
  EXPECT_THAT(Told({}, [](double c) { return kI0 * std::pow(c / kI0, 0.45); }),
              HasSubstr("is not that of photons"));
  EXPECT_THAT(Told({}, [](double c) { return kI0 * std::log1p(c) / std::log1p(kI0); }),
              HasSubstr("is not that of photons"));
  EXPECT_THAT(Told({}, [](double c) { return 65535 - c; }), HasSubstr("is not that of photons"));
}

// Thin bones change from one to the next, which looks like noise.
// Of a thin body levels up to 15 % of air are less than an octave: edges that move on in some of
// them tilt the line, which ends far from 0 then.
TEST(CountNoise, OfLevelsThatLieCloseTogetherTellsNoPedestal) {
  EllipseScan scan(120, 200, {.a_mm = 62, .b_mm = 55, .x_mm = 15, .y_mm = 8}, 0);
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  CountNoise noise(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) {
    for (uint16_t& count : scan.frames[view]) {
      const double share = count / kI0, more = 0.6 + 0.5 * (share - 0.086) / 0.064;
      const double variance = 5 * count * std::clamp(more, 0.6, 1.1);
      count = static_cast<uint16_t>(std::lround(count + std::sqrt(variance) * normal(random)));
    }
    noise.Add(view, scan.Rows(view));
  }
  EXPECT_EQ(noise.Text().value_or(""), "");
}

TEST(CountNoise, OfLargePixelsSaysNothing) {
  const auto root = [](double c) { return std::sqrt(c * kI0); };
  EXPECT_THAT(Told({.pitch_mm = CountNoise::kMostPitchMm}, root), HasSubstr("square root"));
  EXPECT_THAT(Told({.pitch_mm = 1.01 * CountNoise::kMostPitchMm}, root), IsEmpty());
}

TEST(CountNoise, TellsAPedestalOfOnePerCent) {
  for (const Reading& reading :
       {Reading{}, Reading{.photons = 2000}, Reading{.gain_spread = 0.05}}) {
    EXPECT_THAT(Told(reading, [](double c) { return c + 0.01 * kI0; }),
                AllOf(HasSubstr("stand on a pedestal of about "), HasSubstr("% of i0_counts")));
  }
  EXPECT_THAT(Told({}, [](double c) { return c + 0.002 * kI0; }), IsEmpty());
}

TEST(CountNoise, SaysNothingWithoutNoise) {
  EllipseScan scan(120, 200, {}, 0);
  CountNoise noise(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) noise.Add(view, scan.Rows(view));
  EXPECT_EQ(noise.Text(), std::nullopt);
}

}  // namespace
}  // namespace isocenter::recon
