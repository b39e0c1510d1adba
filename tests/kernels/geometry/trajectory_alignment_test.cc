// Matrices in worlds that are turned, shifted, scaled and mirrored against each other.
#include "kernels/geometry/orbits/trajectory_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/units.h"
#include "kernels/geometry/rigid_motion.h"
#include "tests/kernels/geometry/measured_trajectory.h"

namespace isocenter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Detector kDetector{.columns = 620, .rows = 480, .pitch_u_mm = 0.616, .pitch_v_mm = 0.616};

Trajectory Arm(double arc_deg = 200) {
  return *MakeWobblingOrbit({.views = 60,
                             .source_to_isocenter_mm = 750,
                             .source_to_detector_mm = 1200,
                             .start_angle = 0.3,
                             .arc = DegreesToRadians(arc_deg)},
                            kDetector, 1, 7);
}

// The same frames of a world in which what is at p is at scale · T(p) of each axis' sign.
Trajectory Seen(const Trajectory& trajectory, const RigidPose& pose, Vec3 axes = {1, 1, 1}) {
  const RigidTransform back = Inverse(TransformOf(pose));
  Trajectory seen;
  for (ProjectionMatrix matrix : trajectory) {
    for (int row = 0; row < 3; ++row) {
      matrix.m[4 * row] /= axes.x;
      matrix.m[4 * row + 1] /= axes.y;
      matrix.m[4 * row + 2] /= axes.z;
    }
    seen.push_back(*NormalizeMatrix(Times(matrix, back)));
  }
  return seen;
}

std::vector<std::string> Texts(const Trajectory& own, const Trajectory& other) {
  return Misalignments(*Align(own, other), "its own");
}

TEST(TrajectoryAlignment, FindsTurnAndScaleWhateverTheShift) {
  const RigidPose pose{{0.1, -0.2, 0.15}, {12, -30, 8}};
  const auto alignment = Align(Arm(), Seen(Arm(), pose, {1.004, 1.004, 1.004}));
  ASSERT_TRUE(alignment.ok()) << alignment.status();
  EXPECT_FALSE(alignment->mirrored);
  ASSERT_TRUE(alignment->turn_rad && alignment->scale);
  EXPECT_NEAR(Norm(*alignment->turn_rad - pose.turn_rad), 0, 1e-9);
  EXPECT_NEAR(*alignment->scale, 1.004, 1e-9);
  EXPECT_THAT(Misalignments(*alignment, "its own"), IsEmpty());
}

TEST(TrajectoryAlignment, SaysWhatIsMoreThanMeasuringExplains) {
  EXPECT_THAT(Texts(Arm(), Seen(Arm(), {}, {-1, 1, 1})),
              ElementsAre(HasSubstr("left and right exchanged")));
  EXPECT_THAT(Texts(Seen(Arm(), {}, {1, 1, -1}), Arm()),
              ElementsAre(HasSubstr("mirror what its own do not")));
  // Upside down: of the same hand.
  EXPECT_THAT(Texts(Arm(), Seen(Arm(), {}, {1, -1, -1})),
              ElementsAre(HasSubstr("are turned by 180 degrees about (1.00, ")));
  EXPECT_THAT(Texts(Arm(), Seen(Arm(), {{0, 0, DegreesToRadians(21)}, {}})),
              ElementsAre(HasSubstr("are turned by 21 degrees about (0.00, 0.00, 1.00)")));
  EXPECT_THAT(Texts(Arm(), Seen(Arm(), {{0, 0, DegreesToRadians(19)}, {}})), IsEmpty());
  EXPECT_THAT(Texts(Arm(), Seen(Arm(), {{}, {30, 0, 0}}, {1.006, 1.006, 1.006})),
              ElementsAre(HasSubstr("0.60 % longer than by its own")));
  EXPECT_THAT(Texts(Arm(), Seen(Arm(), {}, {0.994, 0.994, 0.994})),
              ElementsAre(HasSubstr("0.60 % shorter than by its own")));
}

// A detector that is further away sees the same world larger.
TEST(TrajectoryAlignment, FocalLengthsAreComparedAndNamed) {
  const auto at = [](double source_to_detector_mm) {
    return *MakeCircularOrbit({.views = 60,
                               .source_to_isocenter_mm = 750,
                               .source_to_detector_mm = source_to_detector_mm,
                               .arc = DegreesToRadians(200)},
                              kDetector);
  };
  const auto told = [&](double other) {
    const TrajectoryAlignment alignment = *Align(at(1200), at(other));
    EXPECT_THAT(Misalignments(alignment, "its own"), IsEmpty()) << other;
    return FocalMisfit(alignment, "its own").value_or("");
  };
  EXPECT_THAT(told(1260), HasSubstr("5.00 % further from the detector than by its own (2045.5 and "
                                    "1948.1 pixels"));
  EXPECT_THAT(told(1140), HasSubstr("5.00 % nearer to the detector than by its own"));
  EXPECT_EQ(told(1212), "");
  EXPECT_EQ(FocalMisfit(*Align(Arm(), Seen(Arm(), {{0.1, 0, 0.2}, {5, 3, 1}})), "its own"),
            std::nullopt);
}

TEST(TrajectoryAlignment, ArmsThatGoDifferentWaysHaveNoTurnInCommon) {
  const Trajectory full = Arm(350);
  const Trajectory reversed(full.rbegin(), full.rend());
  EXPECT_THAT(Texts(full, reversed), ElementsAre(HasSubstr("have no turn in common")));
  EXPECT_FALSE(Align(full, Arm(200))->turn_rad.has_value());
}

TEST(TrajectoryAlignment, ASourceThatStandsStillHasNoScale) {
  const Trajectory still(5, Arm()[0]);
  EXPECT_FALSE(Align(still, still)->scale.has_value());
  EXPECT_EQ(Align(still, Arm()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Align({}, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

// The ideal orbit that is nearest to a measured arm is one that a header would tell.
TEST(TrajectoryAlignment, AMeasuredArmIsWithinWhatIsExpected) {
  const auto path = MeasuredTrajectoryPath();
  if (!path) GTEST_SKIP() << "needs a measured trajectory (ISOCENTER_TRAJECTORY)";
  const auto measured = ReadTrajectoryCsv(*path);
  ASSERT_TRUE(measured.ok()) << measured.status();
  const Detector detector{.columns = kMeasuredColumns,
                          .rows = kMeasuredRows,
                          .pitch_u_mm = kMeasuredPitchMm,
                          .pitch_v_mm = kMeasuredPitchMm};
  const auto nominal = MakeCircularOrbit({.views = static_cast<int>(measured->size()),
                                          .source_to_isocenter_mm = 791.9,
                                          .source_to_detector_mm = 1199,
                                          .start_angle = DegreesToRadians(-136.87),
                                          .arc = DegreesToRadians(-197.18)},
                                         detector);
  ASSERT_TRUE(nominal.ok()) << nominal.status();
  const auto alignment = Align(*nominal, *measured);
  ASSERT_TRUE(alignment.ok()) << alignment.status();
  std::printf("measured arm against its nominal circle: scale %.5f, turn %.3f degrees\n",
              *alignment->scale, RadiansToDegrees(Norm(*alignment->turn_rad)));
  // Its rows are read the other way round than a circle of ours has them.
  EXPECT_THAT(Misalignments(*alignment, "its own"), ElementsAre(HasSubstr("mirror what")));
  EXPECT_NEAR(*alignment->scale, 1, 1e-3);
  EXPECT_LT(Norm(*alignment->turn_rad), DegreesToRadians(1));
}

}  // namespace
}  // namespace isocenter
