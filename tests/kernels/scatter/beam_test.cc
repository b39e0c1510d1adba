#include "kernels/scatter/beam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace isocenter::scatter {
namespace {

using ::testing::HasSubstr;

double WaterPerMm(const CrossSections& sections, double kev) {
  return 0.1 * sections.Total(kev)[kWater];
}

double Passes(const CrossSections& sections, const Beam& beam, double mm) {
  double sum = 0;
  for (size_t k = 0; k < beam.kev.size(); ++k) {
    sum += beam.share[k] * std::exp(-mm * WaterPerMm(sections, beam.kev[k]));
  }
  return sum;
}

TEST(FitBeam, OneEnergyWithoutAPolynomial) {
  const CrossSections sections;
  const Beam beam = FitBeam({.mu_water_per_mm = WaterPerMm(sections, 63)}, sections).value();
  ASSERT_EQ(beam.kev.size(), 1);
  EXPECT_NEAR(beam.kev[0], 63, 1e-6);
  EXPECT_EQ(beam.share[0], 1);
}

TEST(FitBeam, AttenuatesAsThePolynomialSays) {
  const CrossSections sections;
  // A polynomial of a beam of two energies, through three of its thicknesses.
  const Beam truth{.kev = {45, 85}, .share = {0.6, 0.4}};
  const double mu = WaterPerMm(sections, 60);
  const double mm[] = {60, 180, 320};
  double a[3][4];
  for (int i = 0; i < 3; ++i) {
    const double p = -std::log(Passes(sections, truth, mm[i]));
    for (int n = 0; n < 3; ++n) a[i][n] = std::pow(p, n + 1);
    a[i][3] = mu * mm[i];
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (j == i) continue;
      const double factor = a[j][i] / a[i][i];
      for (int n = 0; n < 4; ++n) a[j][n] -= factor * a[i][n];
    }
  }
  ops::Calibration calibration{.mu_water_per_mm = mu};
  for (int i = 0; i < 3; ++i) calibration.water.coefficient.push_back(a[i][3] / a[i][i]);
  const auto beam = FitBeam(calibration, sections);
  ASSERT_TRUE(beam.ok()) << beam.status();
  EXPECT_NEAR(beam->effective_kev, 60, 1e-6);
  EXPECT_NEAR(std::accumulate(beam->share.begin(), beam->share.end(), 0.0), 1, 0.02);
  for (const double thick : {20., 100., 200., 300.}) {
    EXPECT_NEAR(std::log(Passes(sections, *beam, thick) / Passes(sections, truth, thick)), 0, 0.02)
        << thick;
  }
}

// The polynomial of cylinders of 160 and 200 mm in a simulated room (109 kV, heel), which bends
// beyond them as no beam does.
TEST(FitBeam, AsksAPolynomialForNoMoreThanItWasFittedTo) {
  const CrossSections sections;
  ops::Calibration calibration{
      .water = {.coefficient = {0.95719912644047456, 0.0206084513554605, -0.0041314994547225568,
                                0.00040499737365095012}},
      .mu_water_per_mm = 0.020390624933650667};
  EXPECT_THAT(FitBeam(calibration, sections).status().message(), HasSubstr("up to 320 mm; legal"));
  calibration.water.thickest_mm = 201;
  EXPECT_TRUE(FitBeam(calibration, sections).ok()) << FitBeam(calibration, sections).status();
}

TEST(FitBeam, RefusesWhatNoBeamDoes) {
  const CrossSections sections;
  EXPECT_THAT(FitBeam({}, sections).status().message(),
              HasSubstr("water.mu_water_per_mm is 0; legal"));
  // Line integrals that grow faster than their thickness: the beam would get softer.
  const auto status =
      FitBeam({.water = {.coefficient = {1, -0.05}}, .mu_water_per_mm = 0.02}, sections).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

}  // namespace
}  // namespace isocenter::scatter
