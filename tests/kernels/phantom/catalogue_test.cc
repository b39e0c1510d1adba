#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/base/units.h"
#include "kernels/phantom/phantom.h"
#include "tests/kernels/geometry/random_numbers.h"
#include "tests/kernels/phantom/quadrature.h"

namespace isocenter::phantom {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kWater = 0.02;

double Hu(const Phantom& phantom, Vec3 point) {
  return 1000 * (phantom.Attenuation(point) / kWater - 1);
}

std::unique_ptr<Phantom> Make(const std::string& name, double scale = 100) {
  auto phantom = MakePhantom(name, scale, kWater);
  EXPECT_TRUE(phantom.ok()) << phantom.status();
  return *std::move(phantom);
}

TEST(MakePhantom, ListsTheNames) {
  EXPECT_THAT(PhantomNames(), ElementsAre("shepp-logan", "head", "wire", "edge", "cylinder",
                                          "quality", "catphan", "thorax"));
  const auto unknown = MakePhantom("heart", 100, kWater);
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("shepp-logan, head, wire"));
}

TEST(MakePhantom, RefusesWhatIsNotASize) {
  for (double bad : {0.0, -1.0, 1001.0, std::nan("")}) {
    EXPECT_EQ(MakePhantom("head", bad, kWater).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(MakePhantom("head", 100, bad == 1001.0 ? 2 : bad).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(MakePhantom, IntegratesWhatAttenuationSays) {
  RandomNumbers random(2);
  for (const std::string& name : PhantomNames()) {
    const auto phantom = Make(name);
    for (int ray = 0; ray < 40; ++ray) {
      const double angle = random.Uniform(0, 2 * kPi);
      const Vec3 source{750 * std::cos(angle), 750 * std::sin(angle), random.Uniform(-50, 50)};
      const Vec3 direction = UnitVector(random.Vector(80) - source);
      constexpr int kSteps = 100000;
      constexpr double kLength = 1100;
      // Half a step of 0.011 mm at each of up to 16 borders, of 0.04/mm (bone in air) at most; the
      // wire is 20 times water.
      const double largest = name == "wire" ? 20 * kWater : 2.3 * kWater;
      EXPECT_NEAR(phantom->LineIntegral(source, direction),
                  Quadrature(*phantom, source, direction, kLength, kSteps),
                  16 * 0.5 * kLength / kSteps * largest)
          << name;
    }
  }
}

TEST(MakePhantom, FillsTheCubeAndNoMore) {
  RandomNumbers random(3);
  for (const std::string& name : PhantomNames()) {
    const auto phantom = Make(name, 50);
    for (int i = 0; i < 20000; ++i) {
      const Vec3 p = random.Vector(75);
      if (std::abs(p.x) > 50 || std::abs(p.y) > 50 || std::abs(p.z) > 50) {
        EXPECT_EQ(phantom->Attenuation(p), 0) << name;
      }
      EXPECT_GE(phantom->Attenuation(p), 0) << name;
    }
    // The modules of "catphan" reach further below than above.
    EXPECT_GT(phantom->Attenuation({0, 0, name == "catphan" ? -44.0 : 44.0}), 0) << name;
  }
}

// Densities by hand from the table: shell 2, brain 2 - 0.98, ventricles 1.02 - 0.02 ...
TEST(SheppLogan, HasItsDensities) {
  const auto phantom = Make("shepp-logan");
  EXPECT_NEAR(Hu(*phantom, {0, 90, 0}), 1000, 1e-9);
  EXPECT_NEAR(Hu(*phantom, {0, -60, 0}), 20, 1e-9);
  EXPECT_NEAR(Hu(*phantom, {-22, 0, -25}), 0, 1e-9);
  EXPECT_NEAR(Hu(*phantom, {22, 0, -25}), 0, 1e-9);
  EXPECT_NEAR(Hu(*phantom, {0, 35, -25}), 40, 1e-9);
  EXPECT_NEAR(Hu(*phantom, {-8, -65, -25}), 30, 1e-9);
  EXPECT_NEAR(Hu(*phantom, {6, -10.5, 62.5}), 40, 1e-9);
  EXPECT_NEAR(Hu(*phantom, {0, 10, 62.5}), 0, 1e-9);
  EXPECT_NEAR(Hu(*phantom, {80, 0, 0}), -1000, 1e-9);
  // The ellipsoid of half-axes 0.31 x 0.11 turned by 72° leans towards +y with growing x.
  const double c = std::cos(DegreesToRadians(72)), s = std::sin(DegreesToRadians(72));
  EXPECT_NEAR(Hu(*phantom, {22 + 28 * c, 28 * s, -25}), 0, 1e-9);
  EXPECT_NEAR(Hu(*phantom, {22 - 28 * c, 28 * s, -25}), 20, 21);  // in brain or the one above
  EXPECT_NE(Hu(*phantom, {22 - 28 * c, 28 * s, -25}), 0);
}

TEST(Head, HasItsAnatomy) {
  const auto head = Make("head");
  EXPECT_NEAR(Hu(*head, {0, 0, -70}), 35, 1e-9) << "brain";
  EXPECT_NEAR(Hu(*head, {0, 80, 0}), 1000, 1e-9) << "occipital bone";
  EXPECT_NEAR(Hu(*head, {0, 87, 0}), 40, 1e-9) << "skin";
  EXPECT_NEAR(Hu(*head, {13, 0, 28}), 8, 1e-9) << "left ventricle";
  EXPECT_NEAR(Hu(*head, {-13, 0, 28}), 8, 1e-9) << "right ventricle";
  EXPECT_NEAR(Hu(*head, {60, 6, -38}), -1000, 1e-9) << "left ear canal";
  EXPECT_NEAR(Hu(*head, {6, -62, -48}), -1000, 1e-9) << "nasal cavity";
  EXPECT_NEAR(Hu(*head, {0, -62, -48}), 300, 1e-9) << "septum";
  EXPECT_NEAR(Hu(*head, {28, -65, -28}), 15, 1e-9) << "left eye";
  EXPECT_NEAR(Hu(*head, {80, 6, -22}), 30, 1e-9) << "left ear";
  EXPECT_NEAR(Hu(*head, {0, 0, 99}), -1000, 1e-9) << "air";
}

// Nothing else reaches into the low-contrast spheres, and brain is around each.
TEST(Head, EveryContrastInEverySize) {
  const auto head = Make("head");
  int position = 0;
  for (double contrast : {5, 10, 20, 50}) {
    for (double radius : {8.0, 5.0, 2.5}) {
      const double angle = DegreesToRadians(15 + 30 * position++);
      const Vec3 center{42 * std::cos(angle), 42 * std::sin(angle), 0};
      for (Vec3 axis : {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}}) {
        for (double side : {-1.0, 1.0}) {
          EXPECT_NEAR(Hu(*head, center + 0.99 * side * radius * axis), 35 + contrast, 1e-9);
          EXPECT_NEAR(Hu(*head, center + 1.01 * side * radius * axis), 35, 1e-9) << position;
        }
      }
    }
  }
}

TEST(Cylinder, IsWater) {
  const auto cylinder = Make("cylinder", 80);
  EXPECT_NEAR(cylinder->LineIntegral({-500, 0, 0}, {1, 0, 0}), 160 * kWater, 1e-12);
  EXPECT_NEAR(Hu(*cylinder, {0, 0, 0}), 0, 1e-9);
}

TEST(Wire, IsThinAndTilted) {
  const auto wire = Make("wire");
  EXPECT_NEAR(Hu(*wire, {25, 0, 0}), 19000, 1e-6);
  EXPECT_NEAR(Hu(*wire, {25.11, 0, 0}), 0, 1e-9);
  EXPECT_NEAR(Hu(*wire, {25 + 50 * std::tan(DegreesToRadians(3)), 0, 50}), 19000, 1e-6);
}

TEST(Edge, StandsAskew) {
  const auto edge = Make("edge");
  EXPECT_NEAR(Hu(*edge, {0, 0, 0}), 200, 1e-9);
  EXPECT_NEAR(Hu(*edge, {39.5, 0, 0}), 200, 1e-9);
  EXPECT_NEAR(Hu(*edge, {40.5, 0, 0}), 0, 1e-9);
  // 20 mm further along y the edge has moved by 20·tan(3°) = 1.05 mm towards smaller x.
  EXPECT_NEAR(Hu(*edge, {39.5, 20, 0}), 0, 1e-9);
  EXPECT_NEAR(Hu(*edge, {40.5, -20, 0}), 200, 1e-9);
  EXPECT_NE(Hu(*edge, {39.5, 0, 20}), Hu(*edge, {39.5, 0, -20}));
}

}  // namespace
}  // namespace isocenter::phantom
