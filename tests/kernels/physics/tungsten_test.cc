#include "kernels/physics/tungsten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace isocenter::physics {
namespace {

// Air kerma behind a filter; μen/ρ of dry air is from NISTIR 5632 (1995), table 4, log-log.
double MassEnergyAbsorptionOfAir(double kev) {
  constexpr double kTable[][2] = {{5, 39.31},    {8, 9.446},    {10, 4.742},    {15, 1.334},
                                  {20, 0.5389},  {30, 0.1537},  {40, 0.06833},  {50, 0.04098},
                                  {60, 0.03041}, {80, 0.02407}, {100, 0.02325}, {150, 0.02496}};
  size_t i = 1;
  while (i + 1 < std::size(kTable) && kev > kTable[i][0]) ++i;
  const double slope =
      std::log(kTable[i][1] / kTable[i - 1][1]) / std::log(kTable[i][0] / kTable[i - 1][0]);
  return kTable[i][1] * std::pow(kev / kTable[i][0], slope);
}

double Kerma(const Spectrum& spectrum, const Material& filter, double mm) {
  double sum = 0;
  for (size_t i = 0; i < spectrum.kev.size(); ++i) {
    const double e = spectrum.kev[i];
    sum += spectrum.photons[i] * e * MassEnergyAbsorptionOfAir(e) *
           std::exp(-LinearAttenuation(filter, e) * mm);
  }
  return sum;
}

double HalfValueLayerMm(const Spectrum& spectrum, const Material& filter) {
  double low = 0, high = 30;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (Kerma(spectrum, filter, middle) > Kerma(spectrum, filter, 0) / 2 ? low : high) = middle;
  }
  return low;
}

// Measured half-value layers behind filters and air. BIPM: its reference qualities (Kessler, Burns,
// Measuring conditions of the BIPM, Rapports BIPM 2018). N, W: the narrow and wide series of ISO
// 4037 as NIST's Ionizing Radiation Division measured its own (its table VIII.6), with the 4 mm of
// aluminium that the tube's own filtration is made up to.
struct Measured {
  const char* quality;
  Tube tube;
  double air_mm;
  const char* layer;
  double mm;
};
constexpr Measured kMeasured[] = {
    {"BIPM 50 kV", {50, 20, 3.989, 0}, 500, "aluminium", 2.262},
    {"BIPM 100 kV", {100, 20, 3.431, 0}, 1150, "aluminium", 4.030},
    {"BIPM 100 kV", {100, 20, 3.431, 0}, 1150, "copper", 0.149},
    {"BIPM 135 kV", {135, 20, 2.228, 0.232}, 1150, "copper", 0.489},
    {"N-60", {60, 20, 4, 0.6}, 950, "copper", 0.241},
    {"N-80", {80, 20, 4, 2.0}, 950, "copper", 0.59},
    {"W-60", {60, 20, 4, 0.3}, 950, "copper", 0.179},
    {"W-80", {80, 20, 4, 0.529}, 950, "copper", 0.337},
    {"W-110", {110, 20, 4, 2.0295}, 950, "copper", 0.97},
};

TEST(Tungsten, HasMeasuredHalfValueLayers) {
  for (const Measured& m : kMeasured) {
    const Spectrum spectrum =
        Filtered(TungstenSpectrum(m.tube).value(), KnownMaterial("air"), m.air_mm).value();
    const double layer = HalfValueLayerMm(spectrum, KnownMaterial(m.layer));
    EXPECT_NEAR(layer / m.mm, 1, 0.075) << m.quality << ": " << layer << " mm of " << m.layer;
  }
}

TEST(Tungsten, EndsAtTheVoltage) {
  for (double kv : {40.0, 69.5, 70.0, 99.7, 150.0}) {
    const Spectrum spectrum = TungstenSpectrum({.kv = kv}).value();
    EXPECT_LT(spectrum.kev.back(), kv);
    EXPECT_GT(spectrum.kev.back(), kv - 1.01);
  }
}

TEST(Tungsten, HasKLinesAboveTheEdgeOnly) {
  const auto line_to_continuum = [](double kv) {
    const Spectrum spectrum = TungstenSpectrum({.kv = kv}).value();
    const size_t line = 54;  // 59.5 keV: Kα1 is at 59.3
    EXPECT_DOUBLE_EQ(spectrum.kev[line], 59.5);
    return spectrum.photons[line] / spectrum.photons[line + 2];
  };
  EXPECT_LT(line_to_continuum(69), 1.5);
  EXPECT_GT(line_to_continuum(100), 2);
  EXPECT_GT(line_to_continuum(140), line_to_continuum(100));
}

TEST(Tungsten, HardensWithVoltageFiltrationAndSteeperAnodes) {
  const double mean = TungstenSpectrum({.kv = 80}).value().MeanKev();
  EXPECT_GT(TungstenSpectrum({.kv = 100}).value().MeanKev(), mean + 3);
  EXPECT_GT(TungstenSpectrum({.kv = 80, .aluminium_mm = 5}).value().MeanKev(), mean + 2);
  EXPECT_GT(TungstenSpectrum({.kv = 80, .copper_mm = 0.2}).value().MeanKev(), mean + 3);
  EXPECT_GT(TungstenSpectrum({.kv = 80, .anode_angle_deg = 6}).value().MeanKev(), mean);
}

TEST(Tungsten, RefusesTubesThatItDoesNotKnow) {
  const auto error = [](const Tube& tube) {
    return std::string(TungstenSpectrum(tube).status().message());
  };
  using testing::HasSubstr;
  EXPECT_THAT(error({.kv = 39}), HasSubstr("tube.kv is 39; legal is 40 to 150"));
  EXPECT_THAT(error({.kv = 151}), HasSubstr("tube.kv is 151"));
  EXPECT_THAT(error({.kv = std::nan("")}), HasSubstr("tube.kv is nan"));
  EXPECT_THAT(error({.anode_angle_deg = 4}), HasSubstr("anode_angle_deg is 4; legal is 5 to 45"));
  EXPECT_THAT(error({.aluminium_mm = 0}), HasSubstr("aluminium_mm is 0; legal is 1 to 50"));
  EXPECT_THAT(error({.copper_mm = -1}), HasSubstr("copper_mm is -1; legal is 0 to 10"));
}

}  // namespace
}  // namespace isocenter::physics
