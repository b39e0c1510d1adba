#include "kernels/physics/scatter/cross_sections.h"

#include <gtest/gtest.h>
#include <xraylib/xraylib.h>

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter::physics {
namespace {

const CrossSections& Sections() {
  static const CrossSections sections(TissueMaterials());
  return sections;
}

double OfXraylib(const Material& material, double kev, double angle,
                 double (*of)(int, double, double, xrl_error**)) {
  double sum = 0;
  for (const Material::Element& element : material.elements) {
    sum += element.mass_fraction * of(element.atomic_number, kev, angle, nullptr);
  }
  return 0.1 * material.density_g_per_cm3 * sum;
}

// xraylib's differential cross sections integrate to its total ones within 1 %, and the tables are
// steps of 0.01/Å: where factors fall within a step, they are a few % off.
TEST(CrossSections, AreThoseOfXraylib) {
  const std::vector<Material> materials = TissueMaterials();
  for (double kev : {15.0, 33.25, 60.0, 99.9, 140.0}) {
    for (double angle : {0.02, 0.1, 0.5, 1.0, 2.0, 3.0}) {
      const auto found = Sections().Towards(kev, std::cos(angle));
      for (int m = 0; m < kTissueMaterials; ++m) {
        EXPECT_NEAR(found.coherent[m] / OfXraylib(materials[m], kev, angle, DCS_Rayl), 1, 0.03)
            << kev << ' ' << angle << ' ' << m;
        if (angle < 0.1) continue;  // hardly any, in the first step
        EXPECT_NEAR(found.incoherent[m] / OfXraylib(materials[m], kev, angle, DCS_Compt), 1, 0.03)
            << kev << ' ' << angle << ' ' << m;
      }
    }
    for (int m = 0; m < kTissueMaterials; ++m) {
      EXPECT_NEAR(Sections().Total(kev)[m] / LinearAttenuation(materials[m], kev), 1, 0.002);
    }
  }
}

// What is drawn is distributed as Towards says: the mean cosine and its square, within five
// standard errors and 0.1 % for the tables' steps.
TEST(CrossSections, AreDrawnAsTheyAre) {
  constexpr int kDraws = 100000, kAngles = 20000;
  phantom::Generator draws(11);
  for (int m = 0; m < kTissueMaterials; ++m) {
    for (double kev : {20.0, 75.0}) {
      for (bool coherent : {true, false}) {
        double all = 0, mean = 0, square = 0;
        for (int i = 0; i < kAngles; ++i) {
          const double s = (i + 0.5) / kAngles, cosine = 1 - 2 * s * s;
          const auto towards = Sections().Towards(kev, cosine);
          const double weight = s * (coherent ? towards.coherent[m] : towards.incoherent[m]);
          all += weight;
          mean += weight * cosine;
          square += weight * cosine * cosine;
        }
        mean /= all;
        square /= all;
        double drawn = 0, drawn_square = 0;
        for (int i = 0; i < kDraws; ++i) {
          const double cosine = coherent ? Sections().DrawCoherent(m, kev, draws)
                                         : Sections().DrawIncoherent(m, kev, draws);
          drawn += cosine / kDraws;
          drawn_square += cosine * cosine / kDraws;
        }
        const double error = 5 * std::sqrt((square - mean * mean) / kDraws) + 0.001;
        EXPECT_NEAR(drawn, mean, error) << m << ' ' << kev << ' ' << coherent;
        EXPECT_NEAR(drawn_square, square, error) << m << ' ' << kev << ' ' << coherent;
        const double solid = 8 * kPi / kAngles * all;
        const ByMaterial total = coherent ? Sections().Coherent(kev) : Sections().Incoherent(kev);
        EXPECT_NEAR(solid / total[m], 1, 0.002);
      }
    }
  }
}

TEST(CrossSections, OfComptonLoseEnergy) {
  EXPECT_DOUBLE_EQ(ComptonKev(80, 1), 80);
  EXPECT_NEAR(ComptonKev(80, -1), 80 / (1 + 2 * 80 / 511.0), 1e-12);
}

}  // namespace
}  // namespace isocenter::physics
