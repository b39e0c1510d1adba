#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "kernels/base/units.h"
#include "kernels/ops/operations.h"

namespace isocenter::ops {
namespace {

constexpr FilterWindow kWindows[] = {FilterWindow::kRamLak, FilterWindow::kSheppLogan,
                                     FilterWindow::kCosine, FilterWindow::kHamming,
                                     FilterWindow::kHann};

RampFilterSpec Spec(int columns, FilterWindow window, double cutoff = 1) {
  return {.rows = 1, .columns = columns, .window = window, .cutoff = cutoff};
}

TEST(RampFilterKernel, RamLakHasThePublishedValues) {
  const auto h = RampFilterKernel(Spec(5, FilterWindow::kRamLak));
  ASSERT_EQ(h.size(), 5u);
  EXPECT_DOUBLE_EQ(h[0], 0.25);
  EXPECT_DOUBLE_EQ(h[1], -1 / (kPi * kPi));
  EXPECT_EQ(h[2], 0);
  EXPECT_DOUBLE_EQ(h[3], -1 / (9 * kPi * kPi));
  EXPECT_EQ(h[4], 0);
}

// Shepp & Logan (1974) give their filter in the spatial domain: h[k] = -2 / (π² (4k² - 1)) for unit
// pitch. The band-limited product of ramp and sinc equals it; the difference is the truncation of
// the ramp before the window acts and the wrap of the fine grid, both of order 1/n² of the fine
// grid (n = 2048 here: below 1e-5).
TEST(RampFilterKernel, SheppLoganAgreesWithItsClosedForm) {
  const auto h = RampFilterKernel(Spec(512, FilterWindow::kSheppLogan));
  for (int k : {0, 1, 2, 3, 10, 101}) {
    EXPECT_NEAR(h[k], -2 / (kPi * kPi * (4.0 * k * k - 1)), 1e-5) << k;
  }
}

TEST(RampFilterKernel, WindowedKernelsHaveTheWindowedResponse) {
  // A long kernel's transform returns the window times |f| up to the tails that were cut off.
  const int columns = 1024;
  for (FilterWindow window : kWindows) {
    const int n = 4 * columns;
    const auto response = RampFilterResponse(Spec(columns, window), n);
    const auto ramp = RampFilterResponse(Spec(columns, FilterWindow::kRamLak), n);
    for (int f : {n / 16, n / 8, n / 4, 3 * n / 8}) {
      const double x = 2.0 * f / n;
      double expected = 1;
      if (window == FilterWindow::kSheppLogan) expected = std::sin(kPi * x / 2) / (kPi * x / 2);
      if (window == FilterWindow::kCosine) expected = std::cos(kPi * x / 2);
      if (window == FilterWindow::kHamming) expected = 0.54 + 0.46 * std::cos(kPi * x);
      if (window == FilterWindow::kHann) expected = 0.5 + 0.5 * std::cos(kPi * x);
      // 2e-4: the kernel ends at 1/(π·1024)² per lag; summed over the missing lags that is 1e-4.
      EXPECT_NEAR(response[f], expected * ramp[f], 2e-4) << int(window) << " at " << x;
    }
  }
}

TEST(RampFilterKernel, NothingPassesAboveTheCutoff) {
  const int n = 4096;
  const auto response = RampFilterResponse(Spec(1024, FilterWindow::kHann, 0.5), n);
  for (int f = n / 4 + 64; f <= n / 2; f += 64) EXPECT_NEAR(response[f], 0, 2e-4) << f;
  EXPECT_GT(response[n / 8], 0.05);
}

TEST(RampFilterResponse, IsTheTransformOfTheKernelForAnyLength) {
  for (FilterWindow window : kWindows) {
    const RampFilterSpec spec = Spec(7, window, 0.8);
    const auto h = RampFilterKernel(spec);
    for (int n : {14, 20, 64}) {
      const auto response = RampFilterResponse(spec, n);
      for (int f = 0; f <= n / 2; ++f) {
        std::complex<double> sum = 0;
        for (int k = -6; k <= 6; ++k) sum += h[std::abs(k)] * std::polar(1.0, -2 * kPi * f * k / n);
        EXPECT_NEAR(response[f], sum.real(), 1e-14);
        EXPECT_NEAR(sum.imag(), 0, 1e-14);
      }
    }
  }
}

TEST(RampFilterSpec, ExtensionMakesKernelAndTransformLonger) {
  RampFilterSpec spec = Spec(9, FilterWindow::kRamLak);
  EXPECT_EQ(MinimumTransformLength(spec), 18);
  spec.truncation = Truncation::kMirror;
  EXPECT_EQ(ExtensionLength(spec), 4);
  EXPECT_EQ(RampFilterKernel(spec).size(), 13u);
  EXPECT_EQ(MinimumTransformLength(spec), 26);
}

TEST(RampFilterSpec, OnlyWhatGoesOnMakesRowsLonger) {
  RampFilterSpec spec = Spec(9, FilterWindow::kRamLak);
  spec.truncation = Truncation::kCylinder;
  EXPECT_EQ(ExtensionLength(spec), 4);
  spec.truncation = Truncation::kAtract;
  EXPECT_EQ(ExtensionLength(spec), 0);
  EXPECT_EQ(CurvaturePixels(2), 0);
  EXPECT_EQ(CurvaturePixels(3), 3);
  EXPECT_EQ(CurvaturePixels(640), 320);
  EXPECT_EQ(SlopePixels(1), 0);
  EXPECT_EQ(SlopePixels(2), 1);
  EXPECT_EQ(SlopePixels(640), 20);
}

TEST(RampFilterKernel, AtractsSecondDifferencesAreTheRamp) {
  for (FilterWindow window : kWindows) {
    for (const double cutoff : {1.0, 0.6}) {
      SCOPED_TRACE(static_cast<int>(window));
      RampFilterSpec spec = Spec(40, window, cutoff);
      const auto h = RampFilterKernel(spec);
      spec.truncation = Truncation::kAtract;
      const auto r = RampFilterKernel(spec);
      ASSERT_EQ(r.size(), 40u);
      EXPECT_NEAR(2 * (r[1] - r[0]), h[0], 1e-12);
      for (int k = 1; k < 39; ++k) EXPECT_NEAR(r[k - 1] - 2 * r[k] + r[k + 1], h[k], 1e-12) << k;
    }
  }
  // Far out like the logarithm, of which one lag is 0.
  RampFilterSpec spec = Spec(400, FilterWindow::kRamLak);
  spec.truncation = Truncation::kAtract;
  const auto r = RampFilterKernel(spec);
  EXPECT_NEAR(r[100] - r[50], std::log(2) / (2 * kPi * kPi), 1e-5);
  EXPECT_NEAR(r[200], -std::log(2) / (2 * kPi * kPi), 1e-5);
}

}  // namespace
}  // namespace isocenter::ops
