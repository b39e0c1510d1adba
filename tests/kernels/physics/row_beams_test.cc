#include "kernels/physics/row_beams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/physics/spectrum.h"
#include "kernels/physics/tissue.h"

namespace isocenter::physics {
namespace {

constexpr double kCsiMm = 0.6;
constexpr Detector kDetector{.columns = 4, .rows = 61, .pitch_u_mm = 5, .pitch_v_mm = 5};
constexpr double kSdd = 1200;  // row 0 is 7.1 degrees from the middle

std::vector<Material> Aluminium() { return {KnownMaterial("aluminium")}; }

RowBeams Heel(const Tube& tube) {
  return RowBeams::WithHeel(tube, kCsiMm, Aluminium(), kDetector, kSdd).value();
}

Reading Behind(const Beam& beam, double mm) { return beam.Behind(std::vector<double>{mm}); }

TEST(RowBeams, OfOneBeamAreAllTheSame) {
  const Beam beam = Beam::Make(TungstenSpectrum({.kv = 80}).value(), kCsiMm, Aluminium()).value();
  const RowBeams rows(beam);
  EXPECT_EQ(Behind(rows.Of(0), 3).signal, Behind(beam, 3).signal);
  EXPECT_EQ(Behind(rows.Of(1000), 3).variance, Behind(beam, 3).variance);
}

TEST(RowBeams, InTheMiddleAreTheTubes) {
  const Tube tube{.kv = 90, .anode_angle_deg = 10};
  const Beam beam = Beam::Make(TungstenSpectrum(tube).value(), kCsiMm, Aluminium()).value();
  const RowBeams rows = Heel(tube);
  for (double mm : {0.0, 2.0, 20.0}) {
    EXPECT_NEAR(Behind(rows.Of(30), mm).signal, Behind(beam, mm).signal, 1e-12);
    EXPECT_NEAR(Behind(rows.Of(30), mm).variance, Behind(beam, mm).variance, 1e-12);
  }
}

// Towards the anode there is less, of which more passes aluminium; a steep anode hardly differs.
TEST(RowBeams, AreWeakerAndHarderTowardsTheAnode) {
  const RowBeams rows = Heel({.kv = 90, .anode_angle_deg = 10});
  double before = 0, penetration_before = 1;
  for (int v = 0; v < 61; ++v) {
    const double open = Behind(rows.Of(v), 0).signal;
    const double penetration = Behind(rows.Of(v), 5).signal / open;
    EXPECT_GT(open, before);
    EXPECT_LT(penetration, penetration_before);
    before = open;
    penetration_before = penetration;
  }
  // Of an anode of 10 degrees seen at 2.9: some half, as heels of diagnostic tubes are.
  EXPECT_GT(Behind(rows.Of(0), 0).signal, 0.3);
  EXPECT_LT(Behind(rows.Of(0), 0).signal, 0.8);
  const RowBeams steep = Heel({.kv = 90, .anode_angle_deg = 40});
  EXPECT_GT(Behind(steep.Of(0), 0).signal, 0.95);
}

TEST(RowBeams, SayWhatIsOpen) {
  const RowBeams rows = Heel({.kv = 90, .anode_angle_deg = 10});
  const std::vector<double> open = rows.Open();
  ASSERT_EQ(open.size(), 61u);
  EXPECT_NEAR(open[30], 1, 1e-12);
  EXPECT_EQ(open[3], Behind(rows.Of(3), 0).signal);
  const Beam beam = Beam::Make(TungstenSpectrum({.kv = 80}).value(), kCsiMm, Aluminium()).value();
  EXPECT_TRUE(RowBeams(beam).Open().empty());
}

// Half the photons of the same kind: half the signal, and noise of half as many.
TEST(RowBeams, CountPhotons) {
  const Beam beam = Beam::Make(TungstenSpectrum({.kv = 80}).value(), kCsiMm, Aluminium()).value();
  const Beam half = beam.Beside(beam, 0.5);
  EXPECT_NEAR(Behind(half, 4).signal, Behind(beam, 4).signal / 2, 1e-15);
  EXPECT_NEAR(Behind(half, 4).variance, Behind(beam, 4).variance / 2, 1e-15);
  // Photons that give twice the signal: their variance is four times as much.
  const Beam soft = Beam::Make(MakeSpectrum({20}, {1}).value(), kCsiMm, Aluminium()).value();
  const Beam hard = Beam::Make(MakeSpectrum({60}, {1}).value(), kCsiMm, Aluminium()).value();
  const double ratio = SignalOfPhoton(60, kCsiMm) / SignalOfPhoton(20, kCsiMm);
  EXPECT_NEAR(Behind(hard.Beside(soft, 1), 0).signal, ratio, 1e-12);
  EXPECT_NEAR(Behind(hard.Beside(soft, 1), 0).variance, ratio * ratio, 1e-12);
}

TEST(RowBeams, RefuseAnodesThatTheyGraze) {
  const auto error = [](double degrees) {
    return std::string(RowBeams::WithHeel({.kv = 90, .anode_angle_deg = degrees}, kCsiMm,
                                          Aluminium(), kDetector, kSdd)
                           .status()
                           .message());
  };
  EXPECT_THAT(error(8), testing::HasSubstr(
                            "tube.anode_angle_deg is 8; legal with heel on this detector is 8.12"));
  EXPECT_EQ(error(8.2), "");
  EXPECT_THAT(error(50), testing::HasSubstr("legal is 5 to 45"));
}

}  // namespace
}  // namespace isocenter::physics
