// Steps of bone behind water in a beam of many energies, against what the beam truly is.
#include "kernels/calibrate/bone_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>

#include "kernels/calibrate/bone_step.h"
#include "kernels/calibrate/water/water_fit.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/tissue.h"
#include "kernels/physics/tungsten.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;

physics::Beam BeamOf(double kv) {
  const auto spectrum = physics::TungstenSpectrum({.kv = kv, .copper_mm = 0.2}).value();
  return physics::Beam::Make(spectrum, 0.6, physics::TissueMaterials()).value();
}

double LineIntegral(const physics::Beam& beam, double water_mm, double bone_mm) {
  return -std::log(beam.Behind(std::array{water_mm, bone_mm, 0.0}).signal);
}

/// Water as FitWater knows it from a perfect cylinder of 300 mm.
WaterFit WaterOf(const physics::Beam& beam) {
  CylinderScan scan{.cylinder = {.diameter_mm = 300}};
  for (int i = 0; i < 12000; ++i) {
    const double x = 150 * i / 12000.0;
    const double chord = 2 * std::sqrt(150.0 * 150 - x * x);
    scan.rays.push_back({.source = {-750, x, 0},
                         .direction = {1, 0, 0},
                         .transmission = std::exp(-LineIntegral(beam, chord, 0))});
  }
  const auto fit = FitWater({scan});
  EXPECT_TRUE(fit.ok()) << fit.status();
  return fit.value_or(WaterFit());
}

std::vector<BoneStep> Steps(const physics::Beam& beam) {
  std::vector<BoneStep> steps;
  for (const double water : {20, 60, 100, 150, 200}) {
    for (const double bone : {0, 5, 10, 20, 40, 60, 80}) {
      const double p = LineIntegral(beam, water, bone);
      if (p < 8) steps.push_back({water, bone, p});
    }
  }
  return steps;
}

double OfWater(const ops::WaterPolynomial& polynomial, double p) {
  double value = 0, power = 1;
  for (const double c : polynomial.coefficient) value += c * (power *= p);
  return value;
}

/// What the table adds, bilinear between its points and held at its edges.
double Added(const ops::BoneTable& table, double p, double mm) {
  const double x = std::clamp(p / table.most_line_integral, 0.0, 1.0) * (table.line_integrals - 1);
  const double y = std::clamp(mm / table.most_bone_mm, 0.0, 1.0) * (table.bones - 1);
  const int i = std::min(int(x), table.line_integrals - 2), j = std::min(int(y), table.bones - 2);
  const auto at = [&](int row, int column) {
    return table.added[row * table.line_integrals + column];
  };
  return std::lerp(std::lerp(at(j, i), at(j, i + 1), x - i),
                   std::lerp(at(j + 1, i), at(j + 1, i + 1), x - i), y - j);
}

double FigureOf(const Figures& figures, const std::string& name) {
  for (const Figure& figure : figures) {
    if (figure.name == name) return figure.value;
  }
  ADD_FAILURE() << "there is no figure " << name;
  return 0;
}

// Between the steps, too: mu_water·w + mu_bone·b is what is left, within 0.4 % of the longest.
TEST(FitBone, MakesLineIntegralsLinearInWaterAndBone) {
  for (const double kv : {70, 90, 120}) {
    const physics::Beam beam = BeamOf(kv);
    const WaterFit water = WaterOf(beam);
    const auto fit = FitBone(Steps(beam), water.polynomial, water.mu_water_per_mm);
    ASSERT_TRUE(fit.ok()) << kv << " kV: " << fit.status();
    const double longest = FigureOf(fit->figures, "longest line integral");
    double worst = 0, worst_without = 0;
    for (double w = 30; w <= 200; w += 17) {
      for (double b = 2; b <= 75; b += 7) {
        const double p = LineIntegral(beam, w, b);
        if (p > 7.5) continue;
        const double q = OfWater(water.polynomial, p);
        const double truth = water.mu_water_per_mm * w + fit->mu_bone_per_mm * b;
        worst = std::max(worst, std::abs(q + Added(fit->table, q, b) - truth));
        worst_without = std::max(worst_without, std::abs(q - truth));
      }
    }
    std::printf("%g kV: bone %.0f HU; worst %.3f %% of the longest, without the table %.1f %%\n",
                kv, fit->table.full_hu, 100 * worst / longest, 100 * worst_without / longest);
    EXPECT_LT(worst, 0.004 * longest);
    EXPECT_GT(worst_without, 8 * worst);
    EXPECT_LT(FigureOf(fit->figures, "steps off the table of the others"), 0.3);
    EXPECT_GT(FigureOf(fit->figures, "steps off a line without a table"), 0.8);
    EXPECT_TRUE(ops::CheckBoneTable(fit->table).ok());
    EXPECT_EQ(fit->table.from_hu, kBoneFromHu);
    EXPECT_NEAR(fit->table.full_hu, 1000 * (fit->mu_bone_per_mm / water.mu_water_per_mm - 1), 1e-9);
  }
}

TEST(FitBone, RefusesWhatIsNotGoodEnough) {
  const physics::Beam beam = BeamOf(90);
  const WaterFit water = WaterOf(beam);
  const auto refusal = [&](const std::vector<BoneStep>& steps) {
    const auto fit = FitBone(steps, water.polynomial, water.mu_water_per_mm);
    EXPECT_FALSE(fit.ok());
    return std::string(fit.status().message());
  };
  std::vector<BoneStep> steps = Steps(beam);
  EXPECT_THAT(refusal({steps.begin(), steps.begin() + 7}),
              HasSubstr("6 steps with bone, of 6 thicknesses of bone and 1 of water; legal is 9"));
  // One thickness is written down wrong.
  steps[10].bone_mm += 5;
  EXPECT_THAT(refusal(steps), HasSubstr("steps off the table of the others is"));
  steps = Steps(beam);
  for (BoneStep& step : steps) step.water_mm *= 1.05;
  EXPECT_THAT(refusal(steps), HasSubstr("off the water polynomial is"));
  steps = Steps(beam);
  for (BoneStep& step : steps) step.bone_mm /= 10;  // in centimetres
  EXPECT_THAT(refusal(steps), HasSubstr("are the thicknesses of bone and water right"));
  steps = Steps(beam);
  steps[3].line_integral = std::nan("");
  EXPECT_THAT(refusal(steps), HasSubstr("have a line integral of nan"));
  // Without its polynomial water is as hard as bone.
  EXPECT_EQ(FitBone(Steps(beam), {}, 0.02).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(FitBone(Steps(beam), water.polynomial, 0).status().message()),
              HasSubstr("water's attenuation is 0 /mm"));
}

TEST(ParseBoneSteps, ReadsATable) {
  const auto steps =
      ParseBoneSteps("# acquisition water bone\nplain 100 0\n deep/b10, 100, 10 #\n");
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 2u);
  EXPECT_EQ((*steps)[1].path, "deep/b10");
  EXPECT_EQ((*steps)[1].water_mm, 100);
  EXPECT_EQ((*steps)[1].bone_mm, 10);
  for (const char* const bad : {"a 100", "a 100 10 5", "a 601 0", "a 0 201", "a -1 0", "a x 0"}) {
    EXPECT_THAT(std::string(ParseBoneSteps(bad).status().message()), HasSubstr("line 1 is 'a"))
        << bad;
  }
}

constexpr Detector kDetector{.columns = 120, .rows = 100, .pitch_u_mm = 1.6, .pitch_v_mm = 1.6};

TEST(BoneStepMean, LooksAtTheMiddleOnly) {
  const Trajectory orbit = *MakeCircularOrbit(
      {.views = 2, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 1},
      kDetector);
  std::vector<float> frame(size_t{120} * 100, 1);
  for (int v = 20; v < 80; ++v) {
    for (int u = 30; u < 90; ++u) frame[v * 120 + u] = 0.25;
  }
  frame[50 * 120 + 60] = std::nanf("");  // defective
  BoneStepMean mean;
  ASSERT_TRUE(mean.Add(frame, orbit[0], kDetector).ok());
  ASSERT_TRUE(mean.LineIntegral().ok()) << mean.LineIntegral().status();
  EXPECT_NEAR(*mean.LineIntegral(), std::log(4), 1e-6);
  // Half of the middle is beside the step.
  for (int v = 20; v < 80; ++v) {
    for (int u = 30; u < 60; ++u) frame[v * 120 + u] = 1;
  }
  BoneStepMean half;
  ASSERT_TRUE(half.Add(frame, orbit[1], kDetector).ok());
  EXPECT_THAT(std::string(half.LineIntegral().status().message()),
              HasSubstr("a step must fill the middle of the frame"));
  EXPECT_THAT(std::string(BoneStepMean().LineIntegral().status().message()),
              HasSubstr("mean transmission is 0"));
}

}  // namespace
}  // namespace isocenter::calibrate
