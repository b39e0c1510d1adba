// Kernels are found again in the scatter that they make, by sums straight from the contract.
#include "kernels/calibrate/scatter/scatter_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/calibrate/scatter/constant_fraction.h"
#include "kernels/phantom/generator.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;

// 20 x 15 blocks of 16 mm.
constexpr Detector kDetector{.columns = 310, .rows = 240, .pitch_u_mm = 1, .pitch_v_mm = 1};
constexpr double kMu = 0.021;

/// Behind an ellipse of water.
std::vector<double> Primary(double center_u, double radius_u, double radius_v, double water_mm) {
  const CoarseShape shape(kDetector);
  std::vector<double> primary;
  for (int v = 0; v < shape.rows; ++v) {
    for (int u = 0; u < shape.columns; ++u) {
      const double x = (u - center_u) / radius_u, y = (v - 7.0) / radius_v;
      primary.push_back(std::exp(-kMu * water_mm * std::sqrt(std::max(0.0, 1 - x * x - y * y))));
    }
  }
  return primary;
}

double Gaussian(double blocks, double sigma_mm) {
  const auto below = [](double x) { return 0.5 * (1 + std::erf(x / std::sqrt(2.0))); };
  const double d = 16 / sigma_mm;
  return below((blocks + 0.5) * d) - below((blocks - 0.5) * d);
}

std::vector<double> Scatter(const ops::ScatterKernels& kernels,
                            const std::vector<double>& primary) {
  const CoarseShape shape(kDetector);
  std::vector<double> scatter(primary.size());
  for (int to = 0; to < static_cast<int>(primary.size()); ++to) {
    for (int from = 0; from < static_cast<int>(primary.size()); ++from) {
      const double p = primary[from];
      if (p >= 1) continue;
      const double t_from = -std::log(p) / kMu, t_to = -std::log(primary[to]) / kMu;
      const ops::ScatterKernels::Group* group = &kernels.groups[0];
      for (const auto& g : kernels.groups) {
        if (g.from_mm <= t_from) group = &g;
      }
      const int du = to % shape.columns - from % shape.columns;
      const int dv = to / shape.columns - from / shape.columns;
      const double narrow =
          Gaussian(du, group->narrow_sigma_mm) * Gaussian(dv, group->narrow_sigma_mm);
      const double wide = Gaussian(du, group->wide_sigma_mm) * Gaussian(dv, group->wide_sigma_mm);
      scatter[to] += group->amplitude * std::pow(p, group->alpha) *
                     std::pow(-std::log(p), group->beta) *
                     (1 - kernels.gamma_per_mm * (t_to - t_from)) *
                     ((1 - group->wide_share) * narrow + group->wide_share * wide);
    }
  }
  return scatter;
}

ops::ScatterKernels Planted() {
  return {.groups = {{.from_mm = 0,
                      .amplitude = 0.07,
                      .alpha = 0.6,
                      .beta = 1.1,
                      .narrow_sigma_mm = 25,
                      .wide_sigma_mm = 90,
                      .wide_share = 0.6},
                     {.from_mm = 100,
                      .amplitude = 0.05,
                      .alpha = 0.5,
                      .beta = 1.3,
                      .narrow_sigma_mm = 32,
                      .wide_sigma_mm = 120,
                      .wide_share = 0.5}},
          .mu_water_per_mm = kMu,
          .gamma_per_mm = 0.002};
}

std::vector<ScatterView> Views() {
  std::vector<ScatterView> views;
  for (const auto& primary :
       {Primary(9.5, 6, 5, 200), Primary(8, 8, 9, 140), Primary(11, 4, 20, 80)}) {
    views.push_back({primary, Scatter(Planted(), primary)});
  }
  return views;
}

TEST(PredictScatter, IsTheContractsSum) {
  const std::vector<double> primary = Primary(9, 7, 5, 180);
  const std::vector<double> expected = Scatter(Planted(), primary);
  const std::vector<double> predicted = PredictScatter(Planted(), CoarseShape(kDetector), primary);
  for (size_t b = 0; b < expected.size(); ++b) EXPECT_NEAR(predicted[b], expected[b], 1e-12);
}

TEST(ScatterFit, ExplainsScatterOfOtherObjects) {
  std::vector<ScatterView> views = Views();
  phantom::Generator draws(5);
  for (ScatterView& view : views) {
    for (double& s : view.scatter) s *= 1 + 0.02 * draws.Normal();  // as of a simulation
  }
  const auto fit = FitScatter(views, CoarseShape(kDetector), kMu);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->figures[2].name, "scatter that the kernels miss");
  EXPECT_LT(fit->figures[2].value, 3);
  EXPECT_EQ(fit->figures[4].name, "thickest water");
  EXPECT_EQ(fit->kernels.thickest_mm, fit->figures[4].value);
  const std::vector<double> other = Primary(6, 5, 6, 170);
  const std::vector<double> expected = Scatter(Planted(), other);
  const std::vector<double> predicted = PredictScatter(fit->kernels, CoarseShape(kDetector), other);
  double squares = 0, missed = 0;
  for (size_t b = 0; b < expected.size(); ++b) {
    const double arrives = other[b] + expected[b];
    squares += std::pow(expected[b] / arrives, 2);
    missed += std::pow((predicted[b] - expected[b]) / arrives, 2);
  }
  // Groups begin elsewhere than the planted ones where that explains the views as well.
  EXPECT_LT(std::sqrt(missed / squares), 0.06);
}

TEST(ScatterFit, OneThicknessIsWarnedOf) {
  const std::vector<ScatterView> views = Views();
  const auto several = FitScatter(views, CoarseShape(kDetector), kMu);
  ASSERT_TRUE(several.ok()) << several.status();
  EXPECT_TRUE(several->warnings.empty());
  const auto one = FitScatter({views[1], views[1]}, CoarseShape(kDetector), kMu);
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->warnings.size(), 1u);
  EXPECT_THAT(one->warnings[0], HasSubstr("as thick as 140 mm of water"));
}

TEST(ScatterFit, RefusesWhatIsNoScatter) {
  const CoarseShape shape(kDetector);
  const auto error = [&](const std::vector<ScatterView>& views, double mu = kMu) {
    return std::string(FitScatter(views, shape, mu).status().message());
  };
  EXPECT_THAT(error({}), HasSubstr("the number of views is 0; legal is 1 to 16"));
  EXPECT_THAT(error(Views(), 0), HasSubstr("mu_water_per_mm is 0"));
  std::vector<ScatterView> views = Views();
  views[1].scatter[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error(views), HasSubstr("a number in each"));
  views = {{Primary(9, 6, 5, 150), std::vector<double>(shape.blocks(), 0)}};
  EXPECT_THAT(error(views), HasSubstr("scatter is 0 % of air; legal is 0.1 % at least"));
  for (size_t b = 0; b < shape.blocks(); ++b) views[0].scatter[b] = b % 2 == 0 ? 0.2 : 0;
  EXPECT_THAT(error(views), HasSubstr("scatter that the kernels miss is"));
}

TEST(BlockMeans, LeaveDefectsOut) {
  const Detector detector{.columns = 18, .rows = 3, .pitch_u_mm = 1, .pitch_v_mm = 1};
  std::vector<float> frame(18 * 3, 2.0f);
  frame[0] = std::numeric_limits<float>::quiet_NaN();
  frame[16] = 8;
  EXPECT_THAT(BlockMeans(frame, detector), testing::ElementsAre(2, 3));
}

// A slab of water over the left half of the detector, air on the right.
TEST(ConstantFraction, IsThatOfThePrimaryBehindTheObject) {
  const CoarseShape shape(kDetector);
  std::vector<double> primary(shape.blocks(), 1);
  for (size_t b = 0; b < primary.size(); ++b) {
    if (static_cast<int>(b) % shape.columns < 10) primary[b] = std::exp(-kMu * 100);
  }
  const auto kernels = ConstantFraction(0.4, 16, kMu);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  const std::vector<double> scatter = PredictScatter(*kernels, shape, primary);
  const size_t row = size_t(shape.rows / 2) * shape.columns;
  EXPECT_NEAR(scatter[row + 5], 0.4 * primary[row + 5], 1e-3 * primary[row + 5]);
  EXPECT_NEAR(scatter[row + 15], 0, 1e-5);  // five reaches away
  // Half of a Gaussian around the object's last block lies behind it, but for half of a block.
  EXPECT_NEAR(scatter[row + 9] / primary[row + 9], 0.4 * 0.69, 0.01);
}

TEST(ConstantFraction, RefusesWhatIsNoFraction) {
  EXPECT_THAT(ConstantFraction(0, 16, kMu).status().message(),
              HasSubstr("the fraction of scatter is 0; legal is 0.01 to 5"));
  EXPECT_THAT(ConstantFraction(0.4, 1e9, kMu).status().message(), HasSubstr("1e+09; legal is 1"));
  EXPECT_FALSE(ConstantFraction(std::nan(""), 16, kMu).ok());
}

}  // namespace
}  // namespace isocenter::calibrate
