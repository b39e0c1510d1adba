#include "kernels/quality/sphere_transfer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/units.h"
#include "kernels/phantom/generator.h"
#include "kernels/quality/slice_width.h"
#include "tests/kernels/quality/made_volume.h"

namespace isocenter::quality {
namespace {

using ::testing::HasSubstr;

constexpr double kRadius = 10;
constexpr Vec3 kOff{0.17, -0.22, 0.31};

double Gaussian(double sigma, double f) { return std::exp(-2 * kPi * kPi * sigma * sigma * f * f); }

// A ball of radius R blurred by a Gaussian: closed form.
double Ball(double r, double sigma) {
  const double s = sigma * std::sqrt(2.0);
  const double flat = 0.5 * (std::erf((kRadius - r) / s) + std::erf((kRadius + r) / s));
  const double curved = std::exp(-(r - kRadius) * (r - kRadius) / (s * s)) -
                        std::exp(-(r + kRadius) * (r + kRadius) / (s * s));
  return flat - sigma / (std::max(r, 1e-6) * std::sqrt(2 * kPi)) * curved;
}

constexpr double kSlice = 0.7;

MadeVolume Made(double sigma, double noise = 0, int seed = 7, Vec3 at = kOff) {
  phantom::Generator random(seed);
  return {CenteredGrid(64, 64, 48, {0.5, 0.5, kSlice}),
          [&](Vec3 p) { return 10 + 900 * Ball(Norm(p - at), sigma) + noise * random.Normal(); }};
}

TEST(Sphere, HasTheTransferOfItsBlur) {
  for (const double sigma : {0.5, 0.8}) {
    const MadeVolume made = Made(sigma);
    const auto sphere = MeasureSphere(made.view(), {{}, kRadius}, 5);
    ASSERT_TRUE(sphere.ok()) << sphere.status();
    double worst = 0;
    for (const FrequencyCurve* curve : {&sphere->in_plane, &sphere->axial}) {
      for (size_t i = 0; i < curve->values.size(); ++i) {
        worst =
            std::max(worst, std::abs(curve->values[i] - Gaussian(sigma, curve->frequencies[i])));
      }
    }
    const double fwhm = 2 * std::sqrt(2 * std::log(2.0)) * sigma;
    printf("sigma %.1f: MTF within %.4f, FWHM %.3f of %.3f mm\n", sigma, worst,
           sphere->slice_fwhm_mm, fwhm);
    EXPECT_LT(worst, 0.02);
    EXPECT_NEAR(sphere->slice_fwhm_mm, fwhm, 0.02 * fwhm);
    EXPECT_NEAR(sphere->contrast, 900, 9);
  }
}

// What the test is worth: the next blur is not within its bounds.
TEST(Sphere, TellsAWiderBlur) {
  const MadeVolume made = Made(0.53);
  const auto sphere = MeasureSphere(made.view(), {{}, kRadius}, 5);
  ASSERT_TRUE(sphere.ok());
  EXPECT_GT(std::abs(sphere->axial.At(0.5) - Gaussian(0.5, 0.5)), 0.02);
}

TEST(Sphere, BearsNoise) {
  const MadeVolume made = Made(0.5, 20);
  const auto sphere = MeasureSphere(made.view(), {{}, kRadius}, 5);
  ASSERT_TRUE(sphere.ok()) << sphere.status();
  const double half = std::sqrt(std::log(2.0) / (2 * kPi * kPi * 0.25));
  EXPECT_NEAR(sphere->in_plane.FallsTo(0.5).value(), half, 0.05 * half);
}

// Moduli of noise at frequencies at which nothing is left made it 5 % too narrow.
TEST(Sphere, NoiseDoesNotMoveTheSliceWidth) {
  constexpr int kScans = 16;
  for (const double sigma : {0.5, 0.8}) {
    const double fwhm = 2 * std::sqrt(2 * std::log(2.0)) * sigma;
    for (const double noise : {0.0, 10.0, 20.0, 30.0, 44.0}) {
      double sum = 0;
      for (int seed = 1; seed <= kScans; ++seed) {
        const auto sphere = MeasureSphere(Made(sigma, noise, seed).view(), {{}, kRadius}, 5);
        ASSERT_TRUE(sphere.ok()) << sphere.status();
        sum += sphere->slice_fwhm_mm / kScans;
      }
      printf("sigma %.1f, noise %.0f HU: FWHM %.3f of %.3f mm\n", sigma, noise, sum, fwhm);
      // Of the most noise a scan is 0.038 and 0.067 mm off, sixteen a quarter of that.
      EXPECT_NEAR(sum, fwhm, 0.015 * fwhm);
    }
  }
}

// Wherever slices fall beside the sphere. Narrower ones show the voxels, and are not called
// measured.
TEST(Sphere, SliceWidthsAreRightFromOneSliceOn) {
  constexpr int kPlaces = 8;
  for (const double width : {0.6, 0.8, 1.05, 1.25, 1.5, 2.0, 3.0}) {
    const double fwhm = width * kSlice, sigma = fwhm / (2 * std::sqrt(2 * std::log(2.0)));
    double least = 1e9, most = 0;
    for (int place = 0; place < kPlaces; ++place) {
      const Vec3 at = kOff + Vec3{0, 0, place * kSlice / kPlaces};
      const auto sphere = MeasureSphere(Made(sigma, 0, 7, at).view(), {{}, kRadius}, 5);
      ASSERT_TRUE(sphere.ok()) << sphere.status();
      least = std::min(least, sphere->slice_fwhm_mm);
      most = std::max(most, sphere->slice_fwhm_mm);
      EXPECT_EQ(SliceWidth(sphere->slice_fwhm_mm, kSlice).ok(), width >= 1) << width;
    }
    printf("%.2f slices: read %.3f to %.3f\n", width, least / kSlice, most / kSlice);
    if (width < 1) {
      EXPECT_GT(least, 1.05 * fwhm);
    } else {
      EXPECT_GT(least, 0.97 * fwhm);
      EXPECT_LT(most, 1.03 * fwhm);
    }
  }
}

TEST(Sphere, SaysWhatIsWrong) {
  const MadeVolume made = Made(0.5);
  const auto message = [&](const Sphere& sphere, double reach) {
    return std::string(MeasureSphere(made.view(), sphere, reach).status().message());
  };
  EXPECT_THAT(message({{}, kRadius}, 2), HasSubstr("legal is 4 voxels, 2.8 mm, to"));
  EXPECT_THAT(message({{}, kRadius}, 11), HasSubstr("radius of 10"));
  EXPECT_THAT(message({{9, 0, 0}, kRadius}, 5), HasSubstr("inside the volume"));
  const MadeVolume flat(made.grid, [](Vec3) { return 3; });
  EXPECT_THAT(std::string(MeasureSphere(flat.view(), {{}, kRadius}, 5).status().message()),
              HasSubstr("20 times it or more"));
}

}  // namespace
}  // namespace isocenter::quality
