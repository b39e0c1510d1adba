#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"
#include "tests/kernels/geometry/measured_trajectory.h"

namespace isocenter {
namespace {

using ::testing::HasSubstr;

constexpr char kMatrix[] = "-0.1,4,0,100,-0.08,0,-4,80,-0.002,0,0,2";

std::string Write(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/isocenter_trajectory.csv";
  std::ofstream(path) << text;
  return path;
}

void ExpectRefused(const std::string& text, const char* why) {
  const auto result = ReadTrajectoryCsv(Write(text));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(why));
}

TEST(ReadTrajectoryCsv, TakesTheLastTwelveColumnsNormalised) {
  const std::string matrix = kMatrix;
  const auto trajectory = ReadTrajectoryCsv(
      Write("# comment\n\n1, 30.5 ,some word," + matrix + "\r\n" + matrix + "  # no index\n"));
  ASSERT_TRUE(trajectory.ok()) << trajectory.status();
  ASSERT_EQ(trajectory->size(), 2u);
  const ProjectionMatrix expected{{-0.05, 2, 0, 50, -0.04, 0, -2, 40, -0.001, 0, 0, 1}};
  EXPECT_EQ((*trajectory)[0], expected);
  EXPECT_EQ((*trajectory)[1], expected);
}

TEST(ReadTrajectoryCsv, NamesTheLineThatIsWrong) {
  const std::string good = absl::StrCat(kMatrix, "\n");
  ExpectRefused(good + "# comment\n1,2,3\n", "line 3: the number of columns is 3");
  ExpectRefused(good + "-0.1,4,0,1oo,-0.08,0,-4,80,-0.002,0,0,2\n", "line 2: column 4 is '1oo'");
  ExpectRefused(good + "-0.1,4,0,,-0.08,0,-4,80,-0.002,0,0,2\n", "line 2: column 4 is ''");
  ExpectRefused("nan,4,0,1,-0.08,0,-4,80,-0.002,0,0,2\n", "line 1: projection matrix");
  ExpectRefused("1,2,3,1,1,2,3,1,1,2,3,1\n", "singular");
  ExpectRefused("# nothing\n", "no matrix");
  ExpectRefused("", "no matrix");
  std::string many;
  for (int i = 0; i <= kMaxViews; ++i) many += good;
  ExpectRefused(many, "line 10001: more than 10000 matrices");
}

TEST(ReadTrajectoryCsv, SaysThatAFileIsMissing) {
  const auto result = ReadTrajectoryCsv("/nowhere/trajectory.csv");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("/nowhere/trajectory.csv"));
}

TEST(ReadTrajectoryCsv, ReadsTheMeasuredArm) {
  const auto path = MeasuredTrajectoryPath();
  if (!path) GTEST_SKIP() << "no measured trajectory (set ISOCENTER_TRAJECTORY)";
  const auto trajectory = ReadTrajectoryCsv(*path);
  ASSERT_TRUE(trajectory.ok()) << trajectory.status();
  EXPECT_EQ(trajectory->size(), 494u);
  const auto angles = SourceAngles(*trajectory);
  ASSERT_TRUE(angles.ok()) << angles.status();
  // Its second column holds the angle of the source as its makers computed it: -136.870° in the
  // first line, 25.948° (one turn less) in the last.
  EXPECT_NEAR(RadiansToDegrees(angles->front()), -136.870303, 1e-5);
  EXPECT_NEAR(RadiansToDegrees(angles->back()), 25.947861 - 360, 1e-5);
}

}  // namespace
}  // namespace isocenter
