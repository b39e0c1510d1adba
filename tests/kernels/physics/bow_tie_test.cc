#include "kernels/physics/bow_tie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/row_beams.h"
#include "kernels/physics/tissue.h"
#include "kernels/physics/tungsten.h"
#include "kernels/physics/view.h"

namespace isocenter::physics {
namespace {

constexpr Detector kDetector{.columns = 101, .rows = 11, .pitch_u_mm = 4, .pitch_v_mm = 10};

BowTieProfile Profile() {
  return {.material = "aluminium", .points = {{-10, 20}, {-5, 6}, {0, 2}, {5, 6}, {10, 20}}};
}

ProjectionMatrix Pose(double angle) {
  return MakeCircularOrbit({.views = 2,
                            .source_to_isocenter_mm = 750,
                            .source_to_detector_mm = 1200,
                            .start_angle = angle,
                            .arc = 0.1},
                           kDetector)
      .value()
      .front();
}

TEST(BowTie, IsLinearBetweenItsPoints) {
  const BowTie bow_tie = BowTie::Make(Profile()).value();
  EXPECT_DOUBLE_EQ(bow_tie.middle_mm(), 2);
  EXPECT_NEAR(bow_tie.AtMm(DegreesToRadians(-7.5)), 13, 1e-12);
  EXPECT_NEAR(bow_tie.AtMm(DegreesToRadians(2.5)), 4, 1e-12);
  EXPECT_DOUBLE_EQ(bow_tie.AtMm(1), 20);
  EXPECT_DOUBLE_EQ(bow_tie.AtMm(-1), 20);
}

// Each pixel's spectrum is that of the tube behind what its ray passes: computed apart, energy by
// energy, from the unfiltered tube.
TEST(BowTie, HardensEachColumnsSpectrum) {
  const BowTie bow_tie = BowTie::Make(Profile()).value();
  const Spectrum tube = TungstenSpectrum({.kv = 90}).value();
  Spectrum middle = tube;
  bow_tie.FilterByMiddle(middle.kev, middle.photons);
  middle = MakeSpectrum(middle.kev, middle.photons).value();
  std::vector<Material> materials = TissueMaterials();
  materials.push_back(bow_tie.material());
  const RowBeams beams(Beam::Make(middle, 0.6, materials).value());
  const ProjectionMatrix pose = Pose(0.4);
  ThreadPool pool(2);
  std::vector<Reading> readings(size_t(kDetector.columns) * kDetector.rows);
  ReadView(nullptr, beams, &bow_tie, {&pose, 1}, kDetector, 1, pool, readings);
  const auto signal_behind = [&](double mm) {
    double sum = 0;
    for (size_t i = 0; i < tube.kev.size(); ++i) {
      sum += tube.photons[i] * SignalOfPhoton(tube.kev[i], 0.6) *
             std::exp(-mm * LinearAttenuation(KnownMaterial("aluminium"), tube.kev[i]));
    }
    return sum;
  };
  for (const auto& [u, v] : {std::pair{50, 5}, {3, 5}, {80, 5}, {50, 0}, {92, 10}}) {
    const double x = (u - 50) * 4, y = (v - 5) * 10;
    const double slant = std::sqrt(1 + y * y / (x * x + 1200. * 1200));
    const double mm = bow_tie.AtMm(std::atan2(x, 1200)) * slant;
    EXPECT_NEAR(readings[v * 101 + u].signal, signal_behind(mm) / signal_behind(2), 1e-9)
        << u << ", " << v;
  }
  EXPECT_NEAR(readings[5 * 101 + 50].signal, 1, 1e-12);
  EXPECT_LT(readings[5 * 101].signal, 0.4);
}

TEST(BowTie, SwaysWithTheArm) {
  BowTieProfile profile = Profile();
  profile.sway_deg = 1;
  const BowTie bow_tie = BowTie::Make(profile).value();
  const auto at = [&](double angle) {
    const Camera camera = Decompose(Pose(angle)).value();
    return bow_tie.BeyondMiddleMm(camera, camera.depth_axis);
  };
  EXPECT_NEAR(at(0), 0, 1e-9);
  EXPECT_NEAR(at(kPi / 2), 0.8, 1e-9);  // a degree of 4 mm in 5
  EXPECT_NEAR(at(-kPi / 2), 0.8, 1e-9);
  const Camera side = Decompose(Pose(kPi / 2)).value();
  const double fan = DegreesToRadians(2.5);
  const Vec3 ray = std::cos(fan) * side.depth_axis + std::sin(fan) * side.u_axis;
  EXPECT_NEAR(bow_tie.BeyondMiddleMm(side, ray), 1.2, 1e-9);  // seen at 1.5 degrees
}

// A heel's rows are behind the same middle, and the middle still reads 1.
TEST(BowTie, StandsBehindAHeel) {
  const BowTie bow_tie = BowTie::Make(Profile()).value();
  std::vector<Material> materials = TissueMaterials();
  materials.push_back(bow_tie.material());
  const RowBeams beams = RowBeams::WithHeel({.kv = 90, .anode_angle_deg = 12}, 0.6, materials,
                                            kDetector, 1200, &bow_tie)
                             .value();
  const ProjectionMatrix pose = Pose(0.4);
  ThreadPool pool(2);
  std::vector<Reading> readings(size_t(kDetector.columns) * kDetector.rows);
  ReadView(nullptr, beams, &bow_tie, {&pose, 1}, kDetector, 1, pool, readings);
  EXPECT_NEAR(readings[5 * 101 + 50].signal, 1, 1e-9);
  EXPECT_LT(readings[50].signal, readings[10 * 101 + 50].signal);
}

TEST(BowTie, RefusesWhatIsIllegal) {
  const auto error = [](auto spoil) {
    BowTieProfile profile = Profile();
    spoil(profile);
    return std::string(BowTie::Make(profile).status().message());
  };
  using testing::HasSubstr;
  EXPECT_THAT(error([](auto& p) { p.material = "cheese"; }), HasSubstr("bow_tie.material: "));
  EXPECT_THAT(error([](auto& p) { p.points.resize(1); }), HasSubstr("is 1; legal is 2 to 1000"));
  EXPECT_THAT(error([](auto& p) { p.points[1].fan_deg = -10; }),
              HasSubstr("is -10 after -10; legal are ascending"));
  EXPECT_THAT(error([](auto& p) { p.points[1].mm = std::nan(""); }),
              HasSubstr("legal is 0 to 300"));
  EXPECT_THAT(error([](auto& p) { p.points[4].fan_deg = 61; }), HasSubstr("legal is -60 to 60"));
  EXPECT_THAT(error([](auto& p) { p.sway_deg = 6; }), HasSubstr("legal is -5 to 5"));
}

}  // namespace
}  // namespace isocenter::physics
