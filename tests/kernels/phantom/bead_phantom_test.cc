// Chords of balls in a tube, through a tree of spheres, against brute force.
#include "kernels/phantom/bead_phantom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/geometry/random_numbers.h"
#include "tests/kernels/phantom/quadrature.h"

namespace isocenter::phantom {
namespace {

constexpr double kWater = 0.02;

TEST(BeadPhantom, LineIntegralsAreThoseOfItsPoints) {
  RandomNumbers random(11);
  for (const BeadTable& table : {HelixBeads(), RingBeads()}) {
    const auto phantom = MakeBeadPhantom(table, kWater);
    double most = 0;
    for (int i = 0; i < 60; ++i) {
      // From one side through a ball, a little beside its middle.
      const Bead& bead = table[static_cast<size_t>(i) % table.size()];
      const Vec3 source{750 * std::cos(i), 750 * std::sin(i), 20};
      const Vec3 target = bead.center + Vec3{random.Uniform(-0.7, 0.7), random.Uniform(-0.7, 0.7),
                                             random.Uniform(-0.7, 0.7)};
      const Vec3 direction = UnitVector(target - source);
      const double exact = phantom->LineIntegral(source, direction);
      EXPECT_NEAR(exact, Quadrature(*phantom, source, direction, 1000, 20000), 0.06);
      most = std::max(most, exact);
    }
    EXPECT_GT(most, 2 * kSteelDensity * kWater);
  }
}

TEST(BeadPhantom, HasASteelBallInAPlexiglassWallAroundNothing) {
  const auto phantom = MakeBeadPhantom(HelixBeads(), kWater);
  const Vec3 ball = HelixBeads()[50].center;
  EXPECT_EQ(phantom->Attenuation(ball), kSteelDensity * kWater);
  EXPECT_EQ(phantom->Attenuation(ball + Vec3{0, 0, 2}), kPlexiglassDensity * kWater);
  EXPECT_EQ(phantom->Attenuation({0, 0, 0}), 0);
  EXPECT_EQ(phantom->Attenuation({80, 0, 0}), 0);
  const Box box = phantom->Bounds();
  EXPECT_NEAR(box.high.x, 60 + 1.25 + 3, 0.01);
  EXPECT_NEAR(box.low.z, -80 - 1.25 - 10, 0.6);
  // A ball behind the source is not in the beam.
  EXPECT_EQ(phantom->LineIntegral({200, 0, 0}, {1, 0, 0}), 0);
}

TEST(BeadPhantom, IsMappedMaterialByMaterial) {
  const auto phantom = MakeBeadPhantom(RingBeads(), kWater);
  const auto steel = phantom->Mapped([](double a) { return a > 0.1 ? 1.0 : 0.0; });
  const Bead ball = RingBeads()[30];
  const Vec3 source = 12 * ball.center;
  const double chord = steel->LineIntegral(source, UnitVector(-source));
  EXPECT_GE(chord, ball.diameter_mm - 1e-9);  // of this ball, and perhaps of one behind it
  EXPECT_LE(chord, ball.diameter_mm + 2.5 + 1e-9);
}

}  // namespace
}  // namespace isocenter::phantom
