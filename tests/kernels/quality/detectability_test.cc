#include "kernels/quality/detectability.h"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter::quality {
namespace {

using ::testing::HasSubstr;

constexpr double kLevel = 300;  // HU² mm²

struct Curves {
  FrequencyCurve transfer, noise;
};
Curves Gaussian(double sigma, double noise_slope = 0) {
  Curves curves;
  for (int i = 0; i <= 200; ++i) {
    const double f = 0.005 * i;
    curves.transfer.frequencies.push_back(f);
    curves.transfer.values.push_back(std::exp(-2 * kPi * kPi * sigma * sigma * f * f));
    curves.noise.frequencies.push_back(f);
    curves.noise.values.push_back(kLevel * (1 + noise_slope * f));
  }
  return curves;
}

TEST(Detectability, OfAGaussianInWhiteNoiseIsItsEnergy) {
  const Curves curves = Gaussian(0.5);
  const double s = 1.5, contrast = 10, wide = s * s + 0.25;
  const auto d = MeasureDetectability(
      {.profile = DetectionTask::Profile::kGaussian, .contrast = contrast, .size_mm = s},
      curves.transfer, curves.noise);
  ASSERT_TRUE(d.ok()) << d.status();
  // ∫ (C 2π s² exp(-2π² (s² + σ²) f²))² d²f / N = C² 4π² s⁴ / (4π (s² + σ²) N).
  const double closed = std::sqrt(contrast * contrast * kPi * s * s * s * s / (wide * kLevel));
  printf("d' %.4f, closed form %.4f\n", d->prewhitening, closed);
  EXPECT_NEAR(d->prewhitening, closed, 0.001 * closed);
  EXPECT_NEAR(d->non_prewhitening, closed, 0.001 * closed);
  // The eye's filter does not suit white noise.
  EXPECT_LT(d->with_eye, closed);
}

TEST(Detectability, OfADiscInWhiteNoiseIsItsEnergy) {
  Curves curves = Gaussian(0);
  const auto d =
      MeasureDetectability({.contrast = 10, .size_mm = 5}, curves.transfer, curves.noise);
  ASSERT_TRUE(d.ok());
  // C² times the disc's area, but for what is above 1/mm: 1/(π² R) of it.
  const double closed = 10 * std::sqrt(kPi * 6.25 / kLevel);
  EXPECT_NEAR(d->prewhitening, closed, 0.05 * closed);
}

TEST(Detectability, IsBestWhereNoiseIsPrewhitened) {
  const Curves curves = Gaussian(0.4, 20);
  const auto d = MeasureDetectability({}, curves.transfer, curves.noise);
  ASSERT_TRUE(d.ok());
  EXPECT_GT(d->prewhitening, 1.001 * d->non_prewhitening);
  const auto twice = MeasureDetectability({.contrast = 20}, curves.transfer, curves.noise);
  EXPECT_NEAR(twice->with_eye, 2 * d->with_eye, 1e-9);
}

TEST(Detectability, SaysWhatIsWrong) {
  Curves curves = Gaussian(0.4);
  const auto message = [&](const DetectionTask& task) {
    return std::string(
        MeasureDetectability(task, curves.transfer, curves.noise).status().message());
  };
  EXPECT_THAT(message({.contrast = 0}), HasSubstr("contrast is 0 HU; legal is 0.1 to 5000"));
  EXPECT_THAT(message({.size_mm = std::nan("")}), HasSubstr("legal is 0.1 to 100"));
  curves.noise.values[3] = 0;
  EXPECT_THAT(message({}), HasSubstr("noise power at 0.015/mm is 0"));
  curves.transfer = {};
  EXPECT_THAT(message({}), HasSubstr("2 or more"));
}

}  // namespace
}  // namespace isocenter::quality
