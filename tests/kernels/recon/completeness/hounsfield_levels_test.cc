#include "kernels/recon/completeness/hounsfield_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// HU of a place, from -1 to 1 along each axis.
using Object = std::function<double(double x, double y, double z)>;

struct Volume {
  double factor = 1;      // of the attenuation
  double air_hu = -1000;  // what -1000 has become
  double noise_hu = 30;
  PixelType type = PixelType::kUint16Counts;
};

std::string Told(const Object& object, const Volume& volume = {}) {
  constexpr int kSize = 48;
  std::vector<float> hu;
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, volume.noise_hu);
  for (int k = 0; k < kSize; ++k) {
    for (int j = 0; j < kSize; ++j) {
      for (int i = 0; i < kSize; ++i) {
        const auto at = [](int n) { return (2 * n - kSize + 1) / static_cast<double>(kSize); };
        const double seen = object(at(i), at(j), at(k)) + noise(random);
        hu.push_back(static_cast<float>((1000 + seen) * volume.factor + volume.air_hu));
      }
    }
  }
  return ImplausibleHounsfieldText({hu.data(), Shape3{kSize, kSize, kSize}}, volume.type)
      .value_or("");
}

double Head(double x, double y, double z) {
  const double r = std::hypot(x, y, z);
  return r > 0.8 ? -1000 : r > 0.76 ? 900 : 30;
}

double Thorax(double x, double y, double /*z*/) {
  if (std::hypot(x / 0.95, y / 0.7) > 1) return -1000;
  if (std::hypot(x / 0.12, (y - 0.5) / 0.12) < 1) return 250;             // spine
  if (std::hypot((x - 0.1) / 0.25, (y + 0.1) / 0.25) < 1) return 350;     // contrast agent
  if (std::hypot((std::abs(x) - 0.45) / 0.35, y / 0.5) < 1) return -820;  // lungs
  return std::hypot(x / 0.85, y / 0.6) > 1 ? -100 : 45;                   // fat around muscle
}

/// An arm or a knee, as wide as the other axes say, with bone of such a radius.
Object Limb(double radius, double bone) {
  return [=](double x, double y, double) {
    const double r = std::hypot(x, y);
    if (r > radius) return -1000.0;
    return r < bone ? r > 0.8 * bone ? 1100.0 : 200.0 : 50.0;
  };
}

Object Cylinder(double hu) {
  return [=](double x, double y, double) { return std::hypot(x, y) < 0.7 ? hu : -1000; };
}

// Beyond all that is counted by value; a small object, too.
TEST(HounsfieldLevels, LineIntegralsInAnotherUnitMakeMetalOfAll) {
  const Object small = [](double x, double y, double z) {
    return std::hypot(x, y, z) < 0.4 ? 20 : -1000;
  };
  for (const PixelType type : {PixelType::kUint16Counts, PixelType::kFloat32LineIntegrals}) {
    for (const double factor : {5., 10.}) {
      EXPECT_THAT(Told(Head, {.factor = factor, .type = type}), HasSubstr("is above 3000 HU"));
      EXPECT_THAT(Told(small, {.factor = factor, .type = type}), HasSubstr("in another unit"));
    }
  }
  // A ball of steel of a tenth of the object's volume, and balls that are all there is.
  EXPECT_THAT(Told([](double x, double y, double z) {
                return std::hypot(x, y, z) < 0.37 ? 8000 : Head(x, y, z);
              }),
              IsEmpty());
  EXPECT_THAT(Told([](double x, double y, double z) {
                return std::hypot(std::abs(x) - 0.5, y, z) < 0.15 ? 8000 : -1000;
              }),
              IsEmpty());
}

TEST(HounsfieldLevels, LineIntegralsThatAreATenthMakeFoamOfAll) {
  const PixelType lines = PixelType::kFloat32LineIntegrals;
  for (const double factor : {0.05, 0.1, 0.2}) {
    for (const double noise : {0., 30., 100.}) {
      for (const Object& object : {Object(Head), Object(Thorax), Cylinder(0)}) {
        EXPECT_THAT(Told(object, {.factor = factor, .noise_hu = noise, .type = lines}),
                    HasSubstr("hardly anything is above -500 HU"))
            << factor << " " << noise;
      }
    }
  }
  EXPECT_THAT(Told(Head, {.factor = 0.1, .type = lines}), HasSubstr("lies about -8"));
  // Nothing is in the beam, noisy or not.
  for (const double noise : {0., 30., 100., 200.}) {
    EXPECT_THAT(
        Told([](double, double, double) { return -1000; }, {.noise_hu = noise, .type = lines}),
        IsEmpty());
    EXPECT_THAT(Told(Head, {.noise_hu = std::min(noise, 100.), .type = lines}), IsEmpty());
    EXPECT_THAT(Told(Thorax, {.noise_hu = std::min(noise, 100.), .type = lines}), IsEmpty());
  }
}

TEST(HounsfieldLevels, MatricesOfAnotherDistanceAreTold) {
  EXPECT_THAT(Told(Head, {.factor = 1.67}), HasSubstr("soft tissue lies about +7"));
  EXPECT_THAT(Told(Head, {.factor = 1.67}), HasSubstr("legal is -150 to 150"));
  EXPECT_THAT(Told(Thorax, {.factor = 1.3}), HasSubstr("soft tissue lies about +"));
  EXPECT_THAT(Told(Head, {.factor = 0.75}), HasSubstr("soft tissue lies about -2"));
  EXPECT_THAT(Told(Head, {.factor = 1.67, .noise_hu = 150}), HasSubstr("soft tissue"));
  EXPECT_THAT(Told(Head, {.factor = 2.2, .type = PixelType::kFloat32LineIntegrals}),
              HasSubstr("soft tissue lies about +1"));
}

// Too much scatter taken off, as a share of what is left: more where the object is thick.
TEST(HounsfieldLevels, AMiddleThatIsTooDenseIsTold) {
  EXPECT_THAT(Told([](double x, double y, double z) {
                const double r = std::hypot(x, y, z);
                return r > 0.8 ? -1000 : r > 0.7 ? 90 : 60 + 600 * (1 - r / 0.7);
              }),
              HasSubstr("what is no air in its middle has that value most often"));
}

TEST(HounsfieldLevels, AirThatIsNoneIsTold) {
  EXPECT_THAT(Told(Head, {.air_hu = -1185}), HasSubstr("air lies about -1190 HU"));
  EXPECT_THAT(Told(Head, {.air_hu = -840}), HasSubstr("air lies about -850 HU"));
  EXPECT_THAT(Told(Head, {.air_hu = -1040}), IsEmpty());
}

TEST(HounsfieldLevels, HalfAsDenseIsStillTold) {
  EXPECT_THAT(Told(Head, {.factor = 0.5}), HasSubstr("a square root"));
}

TEST(HounsfieldLevels, BodiesAreWell) {
  for (const double noise : {5.0, 60.0, 200.0}) {
    EXPECT_THAT(Told(Head, {.noise_hu = noise}), IsEmpty()) << noise;
    EXPECT_THAT(Told(Thorax, {.noise_hu = noise}), IsEmpty()) << noise;
    EXPECT_THAT(Told(Limb(0.5, 0.2), {.noise_hu = noise}), IsEmpty()) << noise;
    EXPECT_THAT(Told(Limb(0.9, 0.65), {.noise_hu = noise}), IsEmpty()) << noise;
  }
}

TEST(HounsfieldLevels, PhantomsOfPlasticWithInsertsAndMetalAreWell) {
  for (const double hu : {-100.0, 0.0, 120.0}) {
    EXPECT_THAT(Told([=](double x, double y, double z) {
                  for (int i = 0; i < 8; ++i) {
                    const double turn = i * std::acos(-1) / 4;
                    if (std::hypot(x - 0.45 * std::cos(turn), y - 0.45 * std::sin(turn)) < 0.12) {
                      const double inserts[] = {-1000, -100, 120, 340, 990, 8000, 30, -30};
                      return inserts[i];
                    }
                  }
                  return Cylinder(hu)(x, y, z);
                }),
                IsEmpty())
        << hu;
  }
}

TEST(HounsfieldLevels, GridsInsideOfAnObjectSayNothing) {
  for (const double hu : {-850.0, 45.0, 250.0, 990.0, 3000.0}) {
    EXPECT_THAT(Told([=](double x, double, double) { return x < 0.9 ? hu : 45; }), IsEmpty()) << hu;
  }
  // Lung, with a wall of the chest at one side.
  EXPECT_THAT(Told([](double x, double, double) { return x < 0.3 ? -850 : 45; }), IsEmpty());
}

TEST(HounsfieldLevels, EmptyVolumesSayNothing) {
  EXPECT_THAT(Told([](double, double, double) { return -1000; }), IsEmpty());
  // A wire.
  EXPECT_THAT(
      Told([](double x, double y, double) { return std::hypot(x, y) < 0.05 ? 3000 : -1000; }),
      IsEmpty());
}

}  // namespace
}  // namespace isocenter::recon
