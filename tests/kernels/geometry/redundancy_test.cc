#include "kernels/geometry/redundancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/geometry/limited_arc.h"
#include "tests/kernels/geometry/measured_trajectory.h"
#include "tests/kernels/geometry/random_numbers.h"

namespace isocenter {
namespace {

using ::testing::HasSubstr;

constexpr double kRadius = 750, kDistance = 1200;
// Half a fan of 10.1°.
const Detector kDetector{.columns = 215, .rows = 3, .pitch_u_mm = 2, .pitch_v_mm = 2};

Trajectory Orbit(int views, double arc_deg, double offset_u_px = 0, double start_deg = 20) {
  const CircularOrbit orbit{.views = views,
                            .source_to_isocenter_mm = kRadius,
                            .source_to_detector_mm = kDistance,
                            .start_angle = DegreesToRadians(start_deg),
                            .arc = DegreesToRadians(arc_deg),
                            .offset_u_px = offset_u_px};
  return *MakeCircularOrbit(orbit, kDetector);
}

// Sum of the weights with which a line in the plane z = 0 was measured, found by geometry alone:
// for every pair of neighbouring views the line may be met between them; table values are
// interpolated there. Knows nothing of fan angles or signs. nullopt where the line leaves the
// detector.
class LineCounter {
 public:
  LineCounter(const Trajectory& trajectory, const RedundancyTable& table)
      : trajectory_(trajectory), table_(table) {
    for (const ProjectionMatrix& p : trajectory) sources_.push_back(Decompose(p)->source);
  }

  // The line {x : x·normal = distance} with normal (cos phi, sin phi, 0). `met` counts the sources
  // found on it.
  double Weight(double phi, double distance, int& met) const {
    const Vec3 normal{std::cos(phi), std::sin(phi), 0};
    const Vec3 foot = distance * normal;
    double sum = 0;
    met = 0;
    const bool closed = table_.outline.arc == 2 * kPi;
    for (size_t view = 0; view + (closed ? 0 : 1) < sources_.size(); ++view) {
      const size_t next = (view + 1) % sources_.size();
      const double before = Dot(sources_[view], normal) - distance;
      const double after = Dot(sources_[next], normal) - distance;
      if ((before < 0) == (after < 0)) continue;
      const double share = before / (before - after);
      const auto first = WeightAt(view, foot), second = WeightAt(next, foot);
      if (!first || !second) continue;
      sum += (1 - share) * *first + share * *second;
      ++met;
    }
    return sum;
  }

 private:
  // The table at the column on which `view` images the point.
  std::optional<double> WeightAt(size_t view, Vec3 point) const {
    const double u = trajectory_[view].Project(point).u();
    const int column = static_cast<int>(std::floor(u));
    if (column < 0 || column + 1 >= table_.columns) return std::nullopt;
    const double* row = &table_.weight[view * table_.columns];
    return row[column] + (u - column) * (row[column + 1] - row[column]);
  }

  const Trajectory& trajectory_;
  const RedundancyTable& table_;
  std::vector<Vec3> sources_;
};

// Every line that passes the axis within `radius` and meets a source counts once. The foot point of
// the line moves on the detector between two views, which are up to 0.2° apart in these tests: the
// error of interpolating the weights there is of second order, below (0.2° / 10°)².
void ExpectEachLineCountsOnce(const Trajectory& trajectory, const RedundancyTable& table,
                              double radius, double tolerance) {
  const LineCounter lines(trajectory, table);
  RandomNumbers random(1);
  int once = 0, twice = 0;
  for (int repeat = 0; repeat < 3000; ++repeat) {
    int met = 0;
    const double phi = random.Uniform(0, kPi), distance = random.Uniform(-radius, radius);
    const double weight = lines.Weight(phi, distance, met);
    EXPECT_NEAR(weight, 1, tolerance)
        << "phi " << phi << " distance " << distance << " met " << met;
    once += met == 1;
    twice += met == 2;
  }
  EXPECT_GT(twice, 0);
  EXPECT_EQ(once + twice, 3000);
}

constexpr double kLineTolerance = 2e-3;

struct ShortScanCase {
  const char* name;
  double arc_deg;
  double offset_u_px;
};

class ShortScan : public ::testing::TestWithParam<ShortScanCase> {};

TEST_P(ShortScan, EachLineCountsOnceInBothDirections) {
  for (double direction : {1, -1}) {
    const double arc_deg = direction * GetParam().arc_deg;
    const Trajectory trajectory = Orbit(2001, arc_deg, GetParam().offset_u_px);
    const auto table = ComputeRedundancy(trajectory, kDetector, RedundancyWeighting::kShortScan);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_FALSE(table->outline.full_scan);
    EXPECT_NEAR(RadiansToDegrees(table->outline.arc), GetParam().arc_deg * 2001 / 2000, 1e-9);
    const double narrow = 107 - std::abs(GetParam().offset_u_px);  // pixels on the narrow side
    const double radius = 0.995 * kRadius * std::sin(std::atan(narrow * 2 / kDistance));
    ExpectEachLineCountsOnce(trajectory, *table, radius, kLineTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Arcs, ShortScan,
                         ::testing::Values(ShortScanCase{"minimal", 200.3, 0},
                                           ShortScanCase{"over_scan", 240, 0},
                                           ShortScanCase{"nearly_a_circle", 355, 0},
                                           ShortScanCase{"displaced", 212, 10},
                                           ShortScanCase{"displaced_back", 212, -10}),
                         [](const auto& info) { return info.param.name; });

TEST(ComputeRedundancy, WeightsBelongToTheWiderSideOfADisplacedFan) {
  const auto table = ComputeRedundancy(Orbit(500, 212, 10), kDetector, RedundancyWeighting::kAuto);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_NEAR(table->outline.fan_angle, 2 * std::atan(117 * 2 / kDistance), 1e-9);
  EXPECT_EQ(table->outline.columns_lacking_before, 0);
  EXPECT_EQ(table->outline.columns_lacking_after, 0);
}

// By hand, from Parker's paper: arc π + 2Γ, central ray (fan 0): sin²(π/4 · β/Γ) until β = 2Γ.
TEST(ComputeRedundancy, FollowsParkerOnTheCentralRay) {
  const int views = 401;
  const Trajectory trajectory = Orbit(views, 220);
  const auto table = ComputeRedundancy(trajectory, kDetector, RedundancyWeighting::kAuto);
  ASSERT_TRUE(table.ok()) << table.status();
  const double step = 220.0 / 400;
  const double margin = 0.5 * (220 + step - 180);
  for (int view = 0; view < views; ++view) {
    const double beta = (view + 0.5) * step;  // degrees from half a step before the first view
    double expected = 1;
    if (beta < 2 * margin) expected = std::pow(std::sin(kPi / 4 * beta / margin), 2);
    if (beta > 180) expected = std::pow(std::sin(kPi / 4 * (220 + step - beta) / margin), 2);
    EXPECT_NEAR(table->weight[view * 215 + 107], expected, 1e-9);
    EXPECT_NEAR(table->angular_step[view], DegreesToRadians(step), 1e-9);
  }
}

TEST(ComputeRedundancy, FirstAndLastViewKeepAWeight) {
  for (double arc : {200.3, -230.0}) {
    const auto table = ComputeRedundancy(Orbit(300, arc), kDetector, RedundancyWeighting::kAuto);
    ASSERT_TRUE(table.ok()) << table.status();
    for (int view : {0, 299}) {
      for (int u = 0; u < 215; ++u) EXPECT_GT(table->weight[view * 215 + u], 0);
    }
  }
}

// A ray is the first to be measured again where the source turns towards it: on the first view of a
// rotation from +x to +y, rays on the side of +y (larger u) are not repeated soon, and weigh more.
TEST(ComputeRedundancy, TheSideOfTheFanFollowsTheDirectionOfRotation) {
  const auto forward = ComputeRedundancy(Orbit(300, 210), kDetector, RedundancyWeighting::kAuto);
  const auto backward = ComputeRedundancy(Orbit(300, -210), kDetector, RedundancyWeighting::kAuto);
  ASSERT_TRUE(forward.ok() && backward.ok());
  for (int view = 0; view < 300; ++view) {
    for (int u = 0; u < 215; ++u) {
      EXPECT_NEAR(forward->weight[view * 215 + u], backward->weight[view * 215 + 214 - u], 1e-9);
    }
  }
  EXPECT_NE(forward->weight[0], forward->weight[214]);
}

TEST(ComputeRedundancy, MeasuredNoiseAndUnevenStepsKeepTheSum) {
  // Steps between 0.02° and 0.18°, a radius that changes by 1 %, and a detector that shifts by
  // pixels: as long as the change is slow, the lines still count once.
  RandomNumbers random(5);
  Trajectory trajectory;
  double angle = 4;
  for (int view = 0; view < 2300; ++view) {
    Camera camera = *Decompose(Orbit(1, 0)[0]);
    const double wave = std::sin(angle);
    const Vec3 radial{std::cos(angle), std::sin(angle), 0};
    camera.source = kRadius * (1 + 0.005 * wave) * radial + Vec3{0, 0, 3 * wave};
    camera.u_axis = {-radial.y, radial.x, 0};
    camera.depth_axis = -radial;
    camera.principal_u_px += 2 * std::cos(angle);
    trajectory.push_back(Compose(camera));
    angle -= DegreesToRadians(random.Uniform(0.02, 0.18));
  }
  const auto table = ComputeRedundancy(trajectory, kDetector, RedundancyWeighting::kAuto);
  ASSERT_TRUE(table.ok()) << table.status();
  double sum = 0;
  for (double step : table->angular_step) sum += step;
  EXPECT_NEAR(sum, table->outline.arc, 1e-9);
  // The radius of the source is not the same at both ends of a line, so its two fan angles differ
  // by up to 0.5 % of 10°: 0.05° of ramps that rise over 20 to 50°.
  ExpectEachLineCountsOnce(trajectory, *table,
                           0.97 * kRadius * std::sin(std::atan(105 * 2 / kDistance)), 5e-3);
}

TEST(ComputeRedundancy, MeasuredArm) {
  const auto path = MeasuredTrajectoryPath();
  if (!path) GTEST_SKIP() << "no measured trajectory (set ISOCENTER_TRAJECTORY)";
  const auto trajectory = ReadTrajectoryCsv(*path);
  ASSERT_TRUE(trajectory.ok()) << trajectory.status();
  const Detector detector{.columns = kMeasuredColumns,
                          .rows = kMeasuredRows,
                          .pitch_u_mm = kMeasuredPitchMm,
                          .pitch_v_mm = kMeasuredPitchMm};
  const auto table = ComputeRedundancy(*trajectory, detector, RedundancyWeighting::kAuto);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FALSE(table->outline.full_scan);
  EXPECT_NEAR(RadiansToDegrees(table->outline.arc), 197.18 + 0.40, 0.01);
  // Complete within 792 mm · sin(8.8°) = 121 mm. The angles of the sources jitter by 0.015° and
  // their heights and radii differ by up to 1 % between the ends of a line.
  ExpectEachLineCountsOnce(*trajectory, *table, 119, 0.02);
}

TEST(ComputeRedundancy, FullScanCountsEachLineTwiceByHalf) {
  for (double arc : {359.0, -359.0}) {
    const auto table = ComputeRedundancy(Orbit(360, arc), kDetector, RedundancyWeighting::kAuto);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_TRUE(table->outline.full_scan);
    EXPECT_EQ(table->outline.arc, 2 * kPi);
    for (double weight : table->weight) EXPECT_EQ(weight, 0.5);
    for (double step : table->angular_step) EXPECT_NEAR(step, 2 * kPi / 360, 1e-9);
  }
}

// Offsets in pixels of 215: from hardly displaced to nearly beside the axis, to both sides.
class Displaced : public ::testing::TestWithParam<double> {};

TEST_P(Displaced, EachLineCountsOnceUpToTheWideSide) {
  const double offset = GetParam();
  for (double arc : {359.8, -359.8, 400.0}) {
    SCOPED_TRACE(arc);
    const Trajectory trajectory = Orbit(2000, arc, offset);
    const auto table = ComputeRedundancy(trajectory, kDetector, RedundancyWeighting::kAuto);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_TRUE(table->outline.full_scan);
    EXPECT_EQ(table->outline.columns_lacking_before, offset < 0 ? std::round(-2 * offset) : 0);
    EXPECT_EQ(table->outline.columns_lacking_after, offset > 0 ? std::round(2 * offset) : 0);
    const double wide = 107 + std::abs(offset);  // pixels on the wide side
    const double radius = 0.995 * kRadius * std::sin(std::atan(wide * 2 / kDistance));
    const LineCounter lines(trajectory, *table);
    RandomNumbers random(3);
    for (int repeat = 0; repeat < 3000; ++repeat) {
      int met = 0;
      const double phi = random.Uniform(0, kPi), distance = random.Uniform(-radius, radius);
      // A weight changes over as many columns as the sides differ, or over all that both see.
      EXPECT_NEAR(lines.Weight(phi, distance, met), 1, 0.02) << phi << " " << distance;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Offsets, Displaced,
                         ::testing::Values(5.0, -12.0, 53.0, -53.0, 80.0, -97.0));

TEST(ComputeRedundancy, ADetectorThatIsHardlyDisplacedKeepsTheWeightsOfACentredOne) {
  for (double offset : {0.4, -0.4}) {
    const auto table =
        ComputeRedundancy(Orbit(360, 359, offset), kDetector, RedundancyWeighting::kAuto);
    ASSERT_TRUE(table.ok()) << table.status();
    for (double weight : table->weight) EXPECT_EQ(weight, 0.5);
    EXPECT_EQ(table->outline.columns_lacking_before + table->outline.columns_lacking_after, 0);
  }
  // And one that is displaced by 4 of 215 columns changes only the outermost 8.
  const auto table = ComputeRedundancy(Orbit(360, 359, 4), kDetector, RedundancyWeighting::kAuto);
  ASSERT_TRUE(table.ok()) << table.status();
  for (int u = 16; u < 199; ++u) EXPECT_EQ(table->weight[u], 0.5) << u;
}

TEST(ComputeRedundancy, TheGapOfAMeasuredCircleIsShared) {
  // 360 views over 359.3°: the gap is 0.7°.
  const auto table =
      ComputeRedundancy(Orbit(360, 359.3), kDetector, RedundancyWeighting::kFullScan);
  ASSERT_TRUE(table.ok()) << table.status();
  const double step = 359.3 / 359;
  EXPECT_NEAR(RadiansToDegrees(table->angular_step[0]), 0.5 * (step + 0.7), 1e-9);
  EXPECT_NEAR(RadiansToDegrees(table->angular_step[180]), step, 1e-9);
  double sum = 0;
  for (double s : table->angular_step) sum += s;
  EXPECT_NEAR(sum, 2 * kPi, 1e-9);
}

// What the sources at one angle weigh together, per angle: ½ everywhere.
TEST(ComputeRedundancy, MoreThanACircleStillCountsOnce) {
  for (double arc : {360.0, 400.0, 540.0, 719.0, 720.0}) {
    const int views = static_cast<int>(arc) + 1;
    const auto table = ComputeRedundancy(Orbit(views, arc), kDetector, RedundancyWeighting::kAuto);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_TRUE(table->outline.full_scan);
    std::vector<double> per_degree(360);
    for (int view = 0; view < views; ++view) {
      per_degree[view % 360] += table->weight[view * 215 + 3];
      EXPECT_NEAR(RadiansToDegrees(table->angular_step[view]), 1, 1e-9);
    }
    for (double weight : per_degree) EXPECT_NEAR(weight, 0.5, 1e-9) << arc;
  }
}

void ExpectRefused(const Trajectory& trajectory, RedundancyWeighting weighting,
                   std::vector<std::string> parts) {
  const auto table = ComputeRedundancy(trajectory, kDetector, weighting);
  ASSERT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
  for (const std::string& part : parts) {
    EXPECT_THAT(std::string(table.status().message()), HasSubstr(part));
  }
}

TEST(ComputeRedundancy, NamesTheArcFoundAndNeeded) {
  // Fan 2·atan(214/1200) = 20.225°, of which 90 % are 18.2°.
  ExpectRefused(Orbit(181, 190), RedundancyWeighting::kAuto, {"191.056", "198.2", "20.2"});
  ExpectRefused(Orbit(181, -190), RedundancyWeighting::kShortScan, {"191.056"});
  ExpectRefused(Orbit(301, 300), RedundancyWeighting::kFullScan, {"300.000", "359.000"});
  ExpectRefused(Orbit(401, 400), RedundancyWeighting::kShortScan, {"401.000", "360"});
}

TEST(LimitedArc, IsOneThatHasNoWeights) {
  // Half a fan of 10.1 degrees: 180 and nine tenths of 20.2 are needed.
  for (const double arc : {30.0, 90.0, 150.0, 190.0, 196.0, 198.0, 200.0, 240.0, 359.0, 360.0}) {
    const Trajectory trajectory = Orbit(181, arc);
    const auto found = FindLimitedArc(trajectory, kDetector);
    EXPECT_EQ(!found.has_value(),
              ComputeRedundancy(trajectory, kDetector, RedundancyWeighting::kAuto).ok())
        << arc;
    if (!found) continue;
    EXPECT_NEAR(RadiansToDegrees(found->found), arc * 181 / 180, 1e-6);
    EXPECT_NEAR(RadiansToDegrees(found->needed), 180 + 0.9 * 20.2, 0.1);
  }
  EXPECT_THAT(
      LimitedArcText({.found = kPi / 2, .needed = kPi}),
      HasSubstr("the arc is limited: 90.0 degrees, of 180.0 that filtered back-projection"));
}

TEST(LimitedArc, IsNoneOfWhatIsNoArc) {
  Trajectory back_and_forth = Orbit(20, 90);
  std::swap(back_and_forth[3], back_and_forth[12]);
  EXPECT_FALSE(FindLimitedArc(back_and_forth, kDetector));
  EXPECT_FALSE(FindLimitedArc(Orbit(20, 90), {.columns = 0}));
  EXPECT_FALSE(FindLimitedArc({}, kDetector));
}

TEST(ComputeRedundancy, NamesTheColumnsThatADisplacedDetectorLacks) {
  // Of 107 pixels beside the middle: 7 are left, or none, or the axis is off the detector.
  ExpectRefused(Orbit(360, 359, 100), RedundancyWeighting::kAuto,
                {"displaced", "reaches 7.0 columns", "which is at column 207.0 of 0 to 214",
                 "1.0 are missing", "legal is 8 or more"});
  ExpectRefused(Orbit(360, 359, -120), RedundancyWeighting::kAuto,
                {"reaches -13.0 columns", "21.0 are missing"});
  ExpectRefused(Orbit(500, 212, 20), RedundancyWeighting::kAuto,
                {"displaced", "of its 215 columns", "has the axis at column 127.0 of 0 to 214",
                 "short scan is up to 21.5", "full turn"});
  ExpectRefused(Orbit(500, 250, -60), RedundancyWeighting::kShortScan, {"displaced"});
  ExpectRefused(Orbit(500, 355, 60), RedundancyWeighting::kAuto, {"displaced"});
}

TEST(ComputeRedundancy, RefusesWhatHasNoArc) {
  ExpectRefused({}, RedundancyWeighting::kAuto, {"0 views"});
  ExpectRefused(Orbit(1, 0), RedundancyWeighting::kAuto, {"1 views"});
  ExpectRefused(Orbit(10, 0), RedundancyWeighting::kAuto, {"view 1", "monotonic"});
  Trajectory swapped = Orbit(300, 220);
  std::swap(swapped[40], swapped[41]);
  ExpectRefused(swapped, RedundancyWeighting::kAuto, {"view 41", "monotonic"});
  Trajectory singular = Orbit(300, 220);
  singular[17] = ProjectionMatrix{};
  ExpectRefused(singular, RedundancyWeighting::kAuto, {"view 17"});
  EXPECT_FALSE(ComputeRedundancy(Orbit(300, 220), Detector{}, RedundancyWeighting::kAuto).ok());
}

/// Every source of a full turn raised by what `height_mm` says of its share of the turn, the image
/// of the isocentre where it was.
template <class Height>
Trajectory Raised(Height height_mm) {
  Trajectory raised = Orbit(200, 358.2);
  for (size_t view = 0; view < raised.size(); ++view) {
    Camera camera = *Decompose(raised[view]);
    const double principal_v = camera.principal_v_px;
    camera.source.z = height_mm(static_cast<double>(view) / raised.size());
    raised[view] = Compose(camera);
    camera.principal_v_px += principal_v - raised[view](1, 3) / raised[view](2, 3);
    raised[view] = Compose(camera);
  }
  return raised;
}

TEST(ComputeRedundancy, RefusesSourcesThatLeaveThePlane) {
  const auto sine = [](double amplitude_mm) {
    return Raised([=](double turn) { return amplitude_mm * std::sin(4 * kPi * turn); });
  };
  const auto weights = [](const Trajectory& trajectory) {
    return ComputeRedundancy(trajectory, kDetector, RedundancyWeighting::kAuto).status();
  };
  EXPECT_TRUE(weights(sine(22)).ok()) << weights(sine(22));
  const std::string message(weights(sine(23)).message());
  EXPECT_THAT(message, HasSubstr("leave the plane of the orbit by up to 23.0 mm"));
  EXPECT_THAT(message, HasSubstr("is up to 22.5 mm (3 % of their distance"));
  // All alike, the plane is elsewhere; nothing is wrong with the orbit.
  EXPECT_TRUE(weights(Raised([](double) { return 60.0; })).ok());
}

// An object that turns steadily while it is measured sees an arc of another length.
TEST(ShortScanWeightsSeen, AreThoseOfTheArcThatTheObjectSaw) {
  const Trajectory arm = Orbit(60, 200), seen = Orbit(60, 206, 0, 17);
  const auto weights = ShortScanWeightsSeen(arm, seen, kDetector.columns);
  ASSERT_TRUE(weights.ok()) << weights.status();
  const auto table = *ComputeRedundancy(seen, kDetector, RedundancyWeighting::kShortScan);
  ASSERT_EQ(weights->size(), table.weight.size());
  for (size_t ray = 0; ray < table.weight.size(); ++ray) {
    EXPECT_NEAR((*weights)[ray], table.weight[ray], 1e-9) << ray;
  }
}

TEST(ShortScanWeightsSeen, NeedsAllViews) {
  const auto weights = ShortScanWeightsSeen(Orbit(60, 200), Orbit(59, 200), kDetector.columns);
  EXPECT_THAT(std::string(weights.status().message()), HasSubstr("saw 59 of 60 views"));
}

}  // namespace
}  // namespace isocenter
