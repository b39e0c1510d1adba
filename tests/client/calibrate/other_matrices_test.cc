// Matrices in place of an acquisition's own that mirror or turn the patient, which no frame shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/options/simulate_trajectory.h"
#include "kernels/geometry/trajectory.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class OtherMatrices : public testing::Test {
 protected:
  void Simulate(const std::string& out) {
    const Outcome made = RunCommand({"simulate", "--phantom", "head", "--out", directory_ / out,
                                     "--frames", "20", "--detector", "42x32", "--pitch-mm", "9",
                                     "--matrices", directory_ / (out + ".csv")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }

  /// The matrices of a simulated scan in a world whose axes have these signs and lengths.
  std::string Changed(const std::string& of, double x, double y, double z) {
    auto trajectory = *ReadTrajectoryCsv(directory_ / (of + ".csv"));
    for (ProjectionMatrix& matrix : trajectory) {
      for (int row = 0; row < 3; ++row) {
        matrix.m[4 * row] *= x;
        matrix.m[4 * row + 1] *= y;
        matrix.m[4 * row + 2] *= z;
      }
    }
    const std::string path = directory_ / absl::StrCat(x, "_", y, "_", z, ".csv");
    WriteBytes(path, cli::TrajectoryCsv(trajectory));
    return path;
  }

  Outcome Reconstruct(const std::vector<std::string>& input) {
    std::vector<std::string> command = {"reconstruct"};
    command.insert(command.end(), input.begin(), input.end());
    command.insert(command.end(), {"--overwrite", "--out", directory_ / "v.mha", "--grid", "8x8x8",
                                   "--voxel-mm", "10", "--json", directory_ / "v.json"});
    return RunCommand(command);
  }

  const TemporaryDirectory directory_;
};

TEST_F(OtherMatrices, ThatMirrorTurnOrScaleThePatientAreWarnedOf) {
  Simulate("head");
  const auto told = [&](double x, double y, double z) {
    const Outcome done = Reconstruct({directory_ / "head", "--matrices", Changed("head", x, y, z)});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.err;
  };
  EXPECT_THAT(told(-1, 1, 1), HasSubstr("-1_1_1.csv mirror what the acquisition's own do not"));
  EXPECT_THAT(ReadBytes(directory_ / "v.json"), HasSubstr("mirror what the acquisition's own"));
  EXPECT_THAT(told(1, -1, -1), HasSubstr("are turned by 180 degrees about (1.00, 0.00, 0.00)"));
  EXPECT_THAT(told(0.99, 0.99, 0.99), HasSubstr("1.01 % longer than by the acquisition's own"));
  // One row of each matrix scaled: a detector that is further away.
  auto further = *ReadTrajectoryCsv(directory_ / "head.csv");
  for (ProjectionMatrix& matrix : further) {
    const Camera camera = *Decompose(matrix);
    for (int column = 0; column < 4; ++column) {
      matrix.m[column] += 0.05 * (matrix.m[column] - camera.principal_u_px * matrix.m[8 + column]);
      matrix.m[4 + column] +=
          0.05 * (matrix.m[4 + column] - camera.principal_v_px * matrix.m[8 + column]);
    }
  }
  WriteBytes(directory_ / "further.csv", cli::TrajectoryCsv(further));
  EXPECT_THAT(
      Reconstruct({directory_ / "head", "--matrices", directory_ / "further.csv"}).err,
      HasSubstr("further.csv have a source that is 5.00 % further from the detector than by the "
                "acquisition's own"));
  EXPECT_THAT(told(1, 1, 1), Not(HasSubstr("the acquisition's own")));
}

// A run tells angles, whose matrices the measured ones replace.
TEST_F(OtherMatrices, OfARotationalRunAreHeldAgainstItsAngles) {
  Simulate("run.dcm");
  const auto told = [&](const std::string& matrices) {
    const Outcome done = Reconstruct({directory_ / "run.dcm", "--projections", matrices});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.err;
  };
  EXPECT_THAT(told(Changed("run.dcm", -1, 1, 1)), HasSubstr("mirror what the acquisition's own"));
  EXPECT_THAT(told(Changed("run.dcm", 1, 1, 1)),
              AllOf(HasSubstr("the geometry is that of"), Not(HasSubstr("acquisition's own"))));
}

}  // namespace
}  // namespace isocenter::client_test
