#include "kernels/phantom/thorax.h"

#include <gtest/gtest.h>

namespace isocenter::phantom {
namespace {

TEST(Thorax, ExcursionsRestContractAndComeBack) {
  EXPECT_EQ(Excursion(Organ::kHeart, 0), 0);
  EXPECT_NEAR(Excursion(Organ::kHeart, 0.35), 1, 1e-12);
  EXPECT_NEAR(Excursion(Organ::kHeart, 0.5), 0.5, 1e-12);
  EXPECT_EQ(Excursion(Organ::kHeart, 0.8), 0);
  EXPECT_NEAR(Excursion(Organ::kDiaphragm, 0.5), 1, 1e-12);
  EXPECT_NEAR(Excursion(Organ::kDiaphragm, 0.99), 0, 1e-4);
}

TEST(Thorax, TheVentricleShrinksAndTheDiaphragmGoesDown) {
  constexpr double kWater = 0.02;
  const auto hu = [](const Phantom& phantom, Vec3 point) {
    return 1000 * (phantom.Attenuation(point) / kWater - 1);
  };
  const auto rest = MakeThorax(100, kWater, Organ::kHeart, 0);
  const auto systole = MakeThorax(100, kWater, Organ::kHeart, 1);
  const auto breath = MakeThorax(100, kWater, Organ::kDiaphragm, 1);
  const Vec3 in_ventricle{22, -14, -32}, above_liver{-46, 0, -42}, of_spine{10, 45, 10};
  EXPECT_NEAR(hu(*rest, in_ventricle), 250, 1e-6);
  EXPECT_NEAR(hu(*systole, in_ventricle), 60, 1e-6);
  EXPECT_NEAR(hu(*rest, above_liver), 60, 1e-6);
  EXPECT_NEAR(hu(*breath, above_liver), -800, 1e-6);
  for (const Phantom* phantom : {rest.get(), systole.get(), breath.get()}) {
    EXPECT_NEAR(hu(*phantom, of_spine), 300, 1e-6);
  }
}

}  // namespace
}  // namespace isocenter::phantom
