#include "kernels/physics/beam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/physics/tungsten.h"

namespace isocenter::physics {
namespace {

constexpr double kCsiMm = 0.6;

Beam WaterBeam(const Spectrum& spectrum, double csi_mm = kCsiMm) {
  return Beam::Make(spectrum, csi_mm, {KnownMaterial("water"), KnownMaterial("bone")}).value();
}

TEST(Beam, OfOneEnergyFollowsBeer) {
  const Beam beam = WaterBeam(MakeSpectrum({60}, {1}).value());
  const Reading reading = beam.Behind(std::vector<double>{150, 20});
  // NISTIR 5632: water 0.2059, bone 0.3148 cm²/g of 1.92 g/cm³.
  const double line_integral = 15 * 0.2059 + 2 * 1.92 * 0.3148;
  EXPECT_NEAR(-std::log(reading.signal), line_integral, 0.005 * line_integral);
  EXPECT_NEAR(reading.variance, reading.signal, 1e-12) << "one energy: photons alone";
  EXPECT_NEAR(EffectiveKev(beam), 60, 1e-6);
}

// Two energies by hand: NISTIR 5632 has 0.2683 and 0.1837 cm²/g for water and 22.97 and 3.677 for
// CsI at 40 and 80 keV; 0.974 and 0.926 of the latter are photoelectric in xraylib.
TEST(Beam, IntegratesEnergy) {
  const auto weight = [](double kev, double mu, double share) {
    return kev * share * (1 - std::exp(-mu * 4.51 * 0.1 * kCsiMm));
  };
  const double low = weight(40, 22.97, 0.974), high = weight(80, 3.677, 0.926);
  const Beam beam = WaterBeam(MakeSpectrum({40, 80}, {3, 1}).value());
  EXPECT_NEAR(beam.absorbed_share(), (3 * low + high) / (3 * 40 + 80), 0.01);
  const double a = std::exp(-10 * 0.2683), b = std::exp(-10 * 0.1837);
  const Reading reading = beam.Behind(std::vector<double>{100, 0});
  EXPECT_NEAR(reading.signal / ((3 * low * a + high * b) / (3 * low + high)), 1, 0.01);
  const double variance =
      (3 * low * low * a + high * high * b) / 16 / std::pow((3 * low + high) / 4, 2) * 4;
  EXPECT_NEAR(reading.variance / variance, 1, 0.02);
}

TEST(Beam, HardensInWater) {
  const Beam beam = WaterBeam(TungstenSpectrum({.kv = 100}).value());
  double before = 1;
  for (double mm : {1.0, 50.0, 100.0, 200.0, 400.0}) {
    const double mean = -std::log(beam.Behind(std::vector<double>{mm, 0}).signal) / mm;
    EXPECT_LT(mean, before);
    before = mean;
  }
  EXPECT_NEAR(beam.Behind(std::vector<double>{0, 0}).signal, 1, 1e-12);
}

TEST(Beam, EffectiveEnergyAttenuatesAlike) {
  const Beam beam = WaterBeam(TungstenSpectrum({.kv = 120, .copper_mm = 0.2}).value());
  const double kev = EffectiveKev(beam);
  EXPECT_GT(kev, 55);
  EXPECT_LT(kev, 80);
  EXPECT_NEAR(LinearAttenuation(KnownMaterial("water"), kev) * kReferenceWaterMm,
              -std::log(beam.Behind(std::vector<double>{kReferenceWaterMm, 0}).signal), 1e-9);
}

TEST(Beam, RefusesWhatIsNoScreen) {
  const Spectrum spectrum = MakeSpectrum({60}, {1}).value();
  for (double mm : {0.0, 0.04, 5.1, std::nan("")}) {
    EXPECT_THAT(Beam::Make(spectrum, mm, {}).status().message(),
                testing::HasSubstr("legal is 0.05 to 5"));
  }
}

}  // namespace
}  // namespace isocenter::physics
