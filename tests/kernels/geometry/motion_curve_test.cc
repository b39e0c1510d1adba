// Poses over the time of a scan, from knots and from files that anybody may have written.
#include "kernels/geometry/motion_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "kernels/base/units.h"

namespace isocenter {
namespace {

using testing::HasSubstr;

std::string Error(absl::string_view text) {
  return std::string(ParseMotion(text).status().message());
}

TEST(MotionCurve, GoesThroughItsKnotsAndNotBeyond) {
  const MotionCurve curve = *ParseMotion(
      "# a comment\n"
      "0.1, 0 0 0  0 0 0\n"
      "0.4, 4 0 -1 0 0 2  # up\n"
      "0.5 4 1 0 3 0 0\r\n"
      "0.9,0,0,0,0,0,-1\n");
  EXPECT_EQ(curve.At(0), curve.At(0.1));
  EXPECT_EQ(curve.At(1), curve.At(0.9));
  EXPECT_NEAR(curve.At(0.4).shift_mm.x, 4, 1e-12);
  EXPECT_NEAR(curve.At(0.4).shift_mm.z, -1, 1e-12);
  EXPECT_NEAR(RadiansToDegrees(curve.At(0.5).turn_rad.x), 3, 1e-12);
  EXPECT_NEAR(RadiansToDegrees(curve.At(0.9).turn_rad.z), -1, 1e-12);
  double before = -1;
  for (double share = 0.1; share <= 0.4; share += 0.01) {
    const double x = curve.At(share).shift_mm.x;
    EXPECT_GE(x, before);
    EXPECT_LE(x, 4);
    before = x;
  }
  EXPECT_NEAR(curve.At(0.45).shift_mm.x, 4, 1e-12);  // between equal knots nothing swings
  // Smooth: the slopes on both sides of a knot are the same.
  const auto slope = [&](double share) {
    return (curve.At(share + 1e-6).shift_mm.z - curve.At(share - 1e-6).shift_mm.z) / 2e-6;
  };
  EXPECT_NEAR(slope(0.5 - 2e-6), slope(0.5 + 2e-6), 1e-2);
}

TEST(MotionCurve, AStraightLineStaysStraight) {
  const MotionCurve curve = *ParseMotion("0 0 0 0 0 0 0\n0.3 3 0 0 0 0 0\n1 10 0 0 0 0 0\n");
  const MotionCurve two = *ParseMotion("0 0 0 0 0 0 0\n1 10 0 0 0 0 0\n");
  for (const double share : {0.1, 0.2, 0.5, 0.99}) {
    EXPECT_NEAR(curve.At(share).shift_mm.x, 10 * share, 1e-12);
    EXPECT_NEAR(two.At(share).shift_mm.x, 10 * share, 1e-12);
  }
}

TEST(MotionCurve, PosesOfFramesComeBackFromText) {
  const MotionCurve curve = *ParseMotion("0 0 -2 0 1 0 0\n0.3 3 0 0 0 2 0\n1 0 0 1 0 0 -3\n");
  const std::vector<RigidPose> poses = curve.AtFrames(50);
  const std::vector<RigidPose> back = ParseMotion(MotionText(poses))->AtFrames(50);
  for (int k = 0; k < 50; ++k) {
    EXPECT_LT(Norm(back[k].shift_mm - poses[k].shift_mm), 1e-8) << k;
    EXPECT_LT(Norm(back[k].turn_rad - poses[k].turn_rad), 1e-8) << k;
  }
  EXPECT_EQ(curve.AtFrames(1).size(), 1u);
  EXPECT_TRUE(ParseMotion(MotionText(curve.AtFrames(1))).ok());
}

TEST(MotionCurve, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(Error("# nothing\n"), HasSubstr("0 knots; legal is 1 to 10000"));
  EXPECT_THAT(Error("0 0 0 0 0 0 0\n0.5 1 2 3\n"), HasSubstr("line 2"));
  EXPECT_THAT(Error("0 0 nan 0 0 0 0"), HasSubstr("line 1"));
  EXPECT_THAT(Error("0 0 1e999 0 0 0 0"), HasSubstr("line 1"));
  EXPECT_THAT(Error("-0.1 0 0 0 0 0 0"), HasSubstr("legal is 0 to 1"));
  EXPECT_THAT(Error("0.5 0 0 0 0 0 0\n0.5 1 0 0 0 0 0"), HasSubstr("knot 1"));
  EXPECT_THAT(Error("0 100 1 0 0 0 0"), HasSubstr("legal is at most 100"));
  EXPECT_THAT(Error("0 0 0 0 0 91 0"), HasSubstr("legal is at most 90"));
  std::string many;
  for (int k = 0; k <= kMostMotionKnots; ++k) absl::StrAppend(&many, k / 10001.0, " 0 0 0 0 0 0\n");
  EXPECT_THAT(Error(many), HasSubstr("line 10001"));
}

}  // namespace
}  // namespace isocenter
