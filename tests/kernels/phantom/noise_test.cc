#include "kernels/phantom/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace isocenter::phantom {
namespace {

std::vector<uint16_t> Counts(const std::vector<float>& line_integrals, double i0,
                             const NoiseModel& noise, int view = 0) {
  std::vector<uint16_t> counts(line_integrals.size());
  ToCounts(line_integrals, i0, noise, view, counts);
  return counts;
}

struct Moments {
  double mean = 0, variance = 0, skewness = 0;
};

Moments Measure(const std::vector<uint16_t>& counts) {
  Moments moments;
  const double n = static_cast<double>(counts.size());
  for (uint16_t c : counts) moments.mean += c / n;
  double third = 0;
  for (uint16_t c : counts) {
    const double d = c - moments.mean;
    moments.variance += d * d / n;
    third += d * d * d / n;
  }
  moments.skewness = third / std::pow(moments.variance, 1.5);
  return moments;
}

constexpr int kSamples = 400000;

TEST(ToCounts, WithoutNoiseRoundsBeersLaw) {
  const auto counts = Counts({0, 1, 20, -0.5f}, 1000, {});
  EXPECT_EQ(counts, (std::vector<uint16_t>{1000, 368, 0, 1649}));
}

TEST(ToCounts, ClampsAndSurvivesWhatIsNotANumber) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const NoiseModel& noise :
       {NoiseModel{}, NoiseModel{.photons = 1e4, .electronic_counts = 3}}) {
    const auto counts = Counts({-20, -inf, inf, std::nanf("")}, 60000, noise);
    EXPECT_EQ(counts[0], 65535);
    EXPECT_EQ(counts[1], 65535);
    EXPECT_LT(counts[2], 30);
    EXPECT_LT(counts[3], 30);
  }
}

// One count per photon: mean, variance and skewness of Poisson's distribution, across all branches
// of the generator (inversion below 10, rejection, normal above 10^6). Standard errors of the three
// for n samples: sqrt(λ/n), λ·sqrt((2 + 1/λ)/n), about sqrt(6/n); five of them are allowed.
TEST(ToCounts, IsPoissonDistributed) {
  const double n = kSamples;
  for (double mean : {0.02, 0.7, 9.9, 10.1, 40.0, 1000.0, 30000.0}) {
    const Moments moments =
        Measure(Counts(std::vector<float>(kSamples, 0.0f), mean, {.photons = mean, .seed = 5}));
    EXPECT_NEAR(moments.mean, mean, 5 * std::sqrt(mean / n));
    // Rounding to whole counts changes nothing, the numbers are whole.
    EXPECT_NEAR(moments.variance, mean, 5 * mean * std::sqrt((2 + 1 / mean) / n));
    if (mean >= 0.7) {
      EXPECT_NEAR(moments.skewness, 1 / std::sqrt(mean), 5 * std::sqrt(6 / n) * (1 + 3 / mean));
    }
  }
}

TEST(ToCounts, SmallCountsHavePoissonsProbabilities) {
  for (double mean : {3.0, 12.0}) {
    const auto counts =
        Counts(std::vector<float>(kSamples, 0.0f), mean, {.photons = mean, .seed = 9});
    std::vector<double> observed(40);
    for (uint16_t c : counts) {
      if (c < 40) observed[c] += 1.0 / kSamples;
    }
    double probability = std::exp(-mean);
    for (int c = 0; c < 40; ++c) {
      if (c > 0) probability *= mean / c;
      EXPECT_NEAR(observed[c], probability, 5 * std::sqrt(probability / kSamples) + 1e-5) << c;
    }
  }
}

// 2·10^6 photons scaled to 20000 counts: the branch for large means. The rounding to whole counts
// adds 1/12 to the variance.
TEST(ToCounts, ScalesPhotonsToCounts) {
  const double photons = 2e6, i0 = 20000, p = 0.3;
  const Moments moments = Measure(
      Counts(std::vector<float>(kSamples, static_cast<float>(p)), i0, {.photons = photons}));
  const double mean = i0 * std::exp(-p);
  const double variance = i0 * i0 / photons * std::exp(-p) + 1.0 / 12;
  EXPECT_NEAR(moments.mean, mean, 5 * std::sqrt(variance / kSamples));
  EXPECT_NEAR(moments.variance, variance, 5 * variance * std::sqrt(2.0 / kSamples));
}

TEST(ToCounts, AddsElectronicNoise) {
  const double sigma = 12;
  const Moments moments = Measure(
      Counts(std::vector<float>(kSamples, 0.0f), 500, {.electronic_counts = sigma, .seed = 3}));
  const double variance = sigma * sigma + 1.0 / 12;
  EXPECT_NEAR(moments.mean, 500, 5 * sigma / std::sqrt(kSamples));
  EXPECT_NEAR(moments.variance, variance, 5 * variance * std::sqrt(2.0 / kSamples));
  EXPECT_NEAR(moments.skewness, 0, 5 * std::sqrt(6.0 / kSamples));
}

TEST(ToCounts, DependsOnSeedAndViewAlone) {
  const std::vector<float> p(1000, 1.0f);
  const NoiseModel noise{.photons = 5000, .electronic_counts = 2, .seed = 4};
  NoiseModel other_seed = noise;
  other_seed.seed = 5;
  EXPECT_EQ(Counts(p, 5000, noise, 7), Counts(p, 5000, noise, 7));
  EXPECT_NE(Counts(p, 5000, noise, 7), Counts(p, 5000, noise, 8));
  EXPECT_NE(Counts(p, 5000, noise, 7), Counts(p, 5000, other_seed, 7));
  // Views are not shifted copies of each other either.
  const auto a = Counts(p, 5000, noise, 0), b = Counts(p, 5000, noise, 1);
  double correlation = 0;
  const double mean = 5000 * std::exp(-1.0);
  for (int i = 0; i < 1000; ++i) correlation += (a[i] - mean) * (b[i] - mean) / (1000 * mean);
  EXPECT_NEAR(correlation, 0, 5 / std::sqrt(1000.0));
}

}  // namespace
}  // namespace isocenter::phantom
