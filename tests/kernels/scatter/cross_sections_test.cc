// Cross sections that a correction of scatter has, held against those that scatter is simulated
// with: of other fits and other tables.
#include "kernels/scatter/cross_sections.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/units.h"
#include "kernels/physics/material.h"

namespace isocenter::scatter {
namespace {

// 1/mm at their own density -> cm²/g.
double PerGram(const physics::Material& material, double per_mm) {
  return 10 * per_mm / material.density_g_per_cm3;
}

TEST(CrossSections, AgreeWithTheSimulators) {
  const CrossSections sections;
  const physics::Material* const materials[] = {&physics::KnownMaterial("water"),
                                                &physics::KnownMaterial("bone")};
  for (int tissue = 0; tissue < kTissues; ++tissue) {
    const physics::Material& material = *materials[tissue];
    for (const double kev : {20., 30., 45., 60., 70., 90., 120.}) {
      SCOPED_TRACE(testing::Message() << material.name << " at " << kev << " keV");
      const auto scattering = physics::LinearScattering(material, kev);
      EXPECT_NEAR(sections.Total(kev)[tissue] / physics::MassAttenuation(material, kev), 1, 0.02);
      // Bone's phosphorus and calcium have an approximation that is worst where they scatter least;
      // photons of 40 keV and more make the scatter of a scan.
      EXPECT_NEAR(sections.Incoherent(kev)[tissue] / PerGram(material, scattering.incoherent), 1,
                  tissue == kWater ? 0.02 : (kev < 40 ? 0.08 : 0.04));
      EXPECT_NEAR(sections.Coherent(kev)[tissue] / PerGram(material, scattering.coherent), 1, 0.08);
    }
  }
}

TEST(CrossSections, AnglesAreDrawnAsTheyAreDistributed) {
  const CrossSections sections;
  constexpr double kKev = 62.5;
  constexpr int kDraws = 200;
  for (const Tissue tissue : {kWater, kBone}) {
    double coherent = 0, incoherent = 0;
    for (int i = 0; i < kDraws; ++i) {
      for (int j = 0; j < kDraws; ++j) {
        const double a = (i + 0.5) / kDraws, b = (j + 0.5) / kDraws;
        coherent += sections.DrawCoherent(tissue, kKev, a, b) / (kDraws * kDraws);
        incoherent += sections.DrawIncoherent(tissue, kKev, a, b) / (kDraws * kDraws);
      }
    }
    double expected_coherent = 0, expected_incoherent = 0;
    constexpr int kSteps = 20000;
    for (int i = 0; i < kSteps; ++i) {
      const double cosine = -1 + 2 * (i + 0.5) / kSteps, sphere = 4 * kPi / kSteps;
      const auto d = sections.Towards(kKev, cosine);
      expected_coherent += sphere * cosine * d.coherent[tissue] / sections.Coherent(kKev)[tissue];
      expected_incoherent +=
          sphere * cosine * d.incoherent[tissue] / sections.Incoherent(kKev)[tissue];
    }
    EXPECT_NEAR(coherent, expected_coherent, 2e-3);
    EXPECT_NEAR(incoherent, expected_incoherent, 2e-3);
  }
}

TEST(CrossSections, EnergiesBeyondTheTablesAreHeld) {
  const CrossSections sections;
  EXPECT_EQ(sections.Total(1)[kWater], sections.Total(kLeastKev)[kWater]);
  EXPECT_EQ(sections.Total(900)[kBone], sections.Total(kMostKev)[kBone]);
}

}  // namespace
}  // namespace isocenter::scatter
