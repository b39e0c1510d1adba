// Glare that kernels/physics plants around lead is found, and what is no such shadow is refused.
#include "kernels/calibrate/glare_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "kernels/base/thread_pool.h"
#include "kernels/phantom/generator.h"
#include "kernels/physics/glare.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;

constexpr Detector kDetector{.columns = 400, .rows = 310, .pitch_u_mm = 0.6, .pitch_v_mm = 0.6};

struct Planted {
  double share = 0.06, length_mm = 14;
};

/// What `opaque` shades of the empty beam, relative to it: both have the glare.
std::vector<float> Frame(const std::function<bool(double u, double v)>& opaque, Planted glare,
                         double dose = 1, double noise = 0) {
  ThreadPool pool(2);
  std::vector<double> light, air;
  for (int v = 0; v < kDetector.rows; ++v) {
    for (int u = 0; u < kDetector.columns; ++u) {
      light.push_back(opaque(u, v) ? 0 : dose);
      air.push_back(1);
    }
  }
  physics::AddGlare(glare.share, glare.length_mm, kDetector, pool, light);
  physics::AddGlare(glare.share, glare.length_mm, kDetector, pool, air);
  phantom::Generator random(5);
  std::vector<float> frame;
  for (size_t i = 0; i < light.size(); ++i) {
    frame.push_back(static_cast<float>(light[i] / air[i] + noise * random.Normal()));
  }
  return frame;
}

bool InDisk(double u, double v) { return std::hypot(u - 190, v - 160) < 75; }
bool BehindEdge(double u, double v) { return u + 0.2 * v < 180; }

double TotalShare(const GlareFit& fit) {
  double share = 0;
  for (const ops::SpreadTerm& term : fit.terms) share += term.share;
  return share;
}

TEST(GlareFit, FindsWhatWasPlanted) {
  for (const Planted planted : {Planted{0.06, 14}, Planted{0.12, 9}, Planted{0.03, 25}}) {
    for (const auto& opaque : {InDisk, BehindEdge}) {
      const auto fit = FitGlare(Frame(opaque, planted, 0.9, 0.0005), kDetector);
      ASSERT_TRUE(fit.ok()) << fit.status();
      std::printf("%g %g: explained %.2f %%, left %.4f %%, share %.4f\n", planted.share,
                  planted.length_mm, fit->figures[1].value, fit->figures[2].value,
                  TotalShare(*fit));
      EXPECT_NEAR(TotalShare(*fit) / planted.share, 1, 0.12);
      EXPECT_GT(fit->figures[1].value, 95);
      EXPECT_FALSE(fit->profile.empty());
    }
  }
}

TEST(GlareFit, DosesDoNotMatter) {
  const auto bright = FitGlare(Frame(InDisk, {}, 1.4), kDetector);
  const auto dim = FitGlare(Frame(InDisk, {}, 0.7), kDetector);
  ASSERT_TRUE(bright.ok() && dim.ok());
  ASSERT_EQ(bright->terms.size(), dim->terms.size());
  for (size_t n = 0; n < dim->terms.size(); ++n) {
    EXPECT_NEAR(bright->terms[n].share, dim->terms[n].share, 1e-5);
    EXPECT_EQ(bright->terms[n].sigma_mm, dim->terms[n].sigma_mm);
  }
}

TEST(GlareFit, DefectsAreLeftOut) {
  std::vector<float> frame = Frame(InDisk, {});
  const auto clean = FitGlare(frame, kDetector);
  for (size_t i = 7; i < frame.size(); i += 97) {
    frame[i] = std::numeric_limits<float>::quiet_NaN();
  }
  const auto defective = FitGlare(frame, kDetector);
  ASSERT_TRUE(clean.ok() && defective.ok());
  EXPECT_NEAR(TotalShare(*clean), TotalShare(*defective), 0.002);
}

TEST(GlareFit, RefusesWhatCannotBeFitted) {
  const auto nothing = [](double, double) { return false; };
  const auto all = [](double, double) { return true; };
  const auto small = [](double u, double v) { return std::hypot(u - 190, v - 160) < 20; };
  EXPECT_THAT(FitGlare(Frame(nothing, {}), kDetector).status().message(),
              HasSubstr("blocks in the shadow is 0; legal is 100 at least"));
  EXPECT_THAT(FitGlare(Frame(small, {}), kDetector).status().message(),
              HasSubstr("blocks in the shadow is "));
  EXPECT_THAT(FitGlare(Frame(all, {}), kDetector).status().message(),
              HasSubstr("the light beside the shadow is "));
  EXPECT_THAT(FitGlare(Frame(InDisk, {}, 3), kDetector).status().message(),
              HasSubstr("of the empty beam; legal is 0.5 to 2"));
  EXPECT_THAT(FitGlare(Frame(InDisk, {0, 10}), kDetector).status().message(),
              HasSubstr("signal in the shadow is 0 % of air; legal is 0.1 at least"));
  // Light that comes through the object, more where it is thinner.
  std::vector<float> leak = Frame(InDisk, {0, 10});
  for (size_t i = 0; i < leak.size(); ++i) {
    if (leak[i] < 0.5) leak[i] = (i % 400 / 16 + i / 400 / 16) % 2 == 0 ? 0.05f : 0.f;
  }
  EXPECT_THAT(FitGlare(leak, kDetector).status().message(),
              HasSubstr("of which the fit explains is "));
  const std::vector<float> none(kDetector.columns * size_t(kDetector.rows),
                                std::numeric_limits<float>::quiet_NaN());
  EXPECT_FALSE(FitGlare(none, kDetector).ok());
}

}  // namespace
}  // namespace isocenter::calibrate
