#include "kernels/physics/tissue.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/geometry/trajectory.h"
#include "kernels/physics/tungsten.h"
#include "kernels/physics/view.h"

namespace isocenter::physics {
namespace {

constexpr double kMu = 0.02;
constexpr double kKev = 60;

double AttenuationOf(const std::array<double, kTissueMaterials>& amounts, double kev) {
  double sum = 0;
  const std::vector<Material> materials = TissueMaterials();
  for (int m = 0; m < kTissueMaterials; ++m)
    sum += amounts[m] * LinearAttenuation(materials[m], kev);
  return sum;
}

TEST(TissueMap, IsTheNumberAtItsEnergyAndContinuous) {
  const double water = LinearAttenuation(KnownMaterial("water"), kKev);
  for (bool metal : {false, true}) {
    const TissueMap map(kKev, metal);
    for (double number = 0; number < 25; number += 0.01) {
      const auto amounts = map.Of(number);
      EXPECT_NEAR(AttenuationOf(amounts, kKev), number * water, 1e-12) << number;
      for (double amount : amounts) EXPECT_GE(amount, 0);
      const auto next = map.Of(number + 1e-9);
      if (std::abs(number - 5) > 0.005) {
        EXPECT_NEAR(amounts[1], next[1], 1e-6) << number;
      }
    }
  }
}

TEST(TissueMap, KnowsAirFatTissueBoneAndMetal) {
  const TissueMap map(kKev, true);
  EXPECT_EQ(map.Of(0), (std::array<double, 3>{0, 0, 0}));
  EXPECT_EQ(map.Of(0.9), (std::array<double, 3>{0.9, 0, 0}));
  EXPECT_EQ(map.Of(1.1), (std::array<double, 3>{1.1, 0, 0}));
  // Cortical bone is 1.92·0.3148 / 0.2059 = 2.936 at 60 keV (NISTIR 5632).
  EXPECT_NEAR(map.Of(2.936)[1], 1, 0.005);
  EXPECT_LT(map.Of(2.936)[0], 0.01);
  EXPECT_EQ(map.Of(20)[1], 0);
  // Titanium: 4.54·0.7661 / 0.2059 = 16.89.
  EXPECT_NEAR(map.Of(20)[2], 20 / 16.89, 0.01);
  EXPECT_EQ(TissueMap(kKev, false).Of(20)[2], 0);
}

std::unique_ptr<phantom::Phantom> SmallVoxels() {
  const VolumeGrid grid = CenteredGrid(8, 8, 8, {5, 5, 5});
  std::vector<float> voxels(512);
  for (size_t i = 0; i < voxels.size(); ++i) voxels[i] = static_cast<float>(kMu * (i % 5) * 0.6);
  return phantom::MakeVoxelPhantom(voxels, grid).value();
}

// At the reference energy every ray sees the phantom's own line integral, whatever it is made of.
TEST(TissueObject, IsThePhantomAtTheReferenceEnergy) {
  const double water = LinearAttenuation(KnownMaterial("water"), kKev);
  std::vector<std::unique_ptr<phantom::Phantom>> phantoms;
  for (const std::string& name : phantom::PhantomNames()) {
    phantoms.push_back(phantom::MakePhantom(name, 80, kMu).value());
  }
  phantoms.push_back(SmallVoxels());
  for (const auto& phantom : phantoms) {
    const TissueObject object(*phantom, kMu, TissueMap(kKev, true));
    for (int i = 0; i < 200; ++i) {
      const double angle = 0.7 * i;
      const Vec3 source = 500 * Vec3{std::cos(angle), std::sin(angle), 0.01 * (i % 7)};
      const Vec3 to{0.3 * (i % 50), 0.2 * (i % 31), 0.5 * (i % 11)};
      const Vec3 along = (1 / Norm(to - source)) * (to - source);
      const double expected = phantom->LineIntegral(source, along) / kMu * water;
      // Voxels are float32.
      EXPECT_NEAR(AttenuationOf(object.PathsMm(source, along), kKev), expected,
                  1e-5 * (1 + expected));
    }
  }
}

TEST(TissueObject, HasExactChords) {
  const auto edge = phantom::MakePhantom("cylinder", 80, kMu).value();
  const TissueObject object(*edge, kMu, TissueMap(kKev, true));
  const auto paths = object.PathsMm({-500, 0, 0}, {1, 0, 0});
  EXPECT_NEAR(paths[0], 160, 1e-9);
  EXPECT_EQ(paths[1], 0);
  EXPECT_EQ(paths[2], 0);
}

// A pixel adds up intensities, not line integrals: at an edge it reads more than the mean path
// says.
TEST(ReadView, AveragesBehindTheObject) {
  const Detector detector{.columns = 9, .rows = 3, .pitch_u_mm = 10, .pitch_v_mm = 10};
  const Trajectory orbit =
      MakeCircularOrbit({.views = 1, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200},
                        detector)
          .value();
  const Beam beam =
      Beam::Make(TungstenSpectrum({.kv = 80}).value(), 0.6, TissueMaterials()).value();
  const auto cylinder = phantom::MakePhantom("cylinder", 20, kMu).value();
  const TissueObject object(*cylinder, kMu, TissueMap(EffectiveKev(beam), true));
  ThreadPool pool(2);
  std::vector<Reading> one(27), fine(27);
  ReadView(object, RowBeams(beam), std::span(orbit).first(1), detector, 1, pool, one);
  ReadView(object, RowBeams(beam), std::span(orbit).first(1), detector, 8, pool, fine);
  EXPECT_NEAR(one[9].signal, 1, 1e-12) << "beside the cylinder";
  EXPECT_NEAR(fine[9].variance, beam.Behind(std::vector<double>(3)).variance, 1e-12);
  const double middle = beam.Behind(object.PathsMm({750, 0, 0}, {-1, 0, 0})).signal;
  EXPECT_NEAR(one[13].signal, middle, 1e-9);
  std::vector<float> mean_paths(27);
  phantom::ProjectView(*cylinder, orbit[0], detector, 8, pool, {mean_paths.data(), {1, 3, 9}});
  const int edge = 10;  // half of it sees the cylinder
  const double mean_path = mean_paths[edge] / kMu;
  ASSERT_GT(mean_path, 2);
  EXPECT_GT(fine[edge].signal, beam.Behind(std::vector<double>{mean_path, 0, 0}).signal + 1e-3);
}

}  // namespace
}  // namespace isocenter::physics
