// Iterations that lead away from the frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RisingResidual, IsWarnedOf) {
  const TemporaryDirectory directory;
  const Outcome made = RunCommand({"simulate", "--phantom", "head", "--out", directory / "head",
                                   "--frames", "60", "--detector", "62x48", "--pitch-mm", "6.16"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto refine = [&](const std::string& prior) {
    const Outcome done = RunCommand({"reconstruct", "--overwrite", directory / "head", "--out",
                                     directory / "v.mha", "--grid", "48x48x32", "--voxel-mm", "5",
                                     "--algorithm", "os_sqs", "--iterations", "6", "--subsets",
                                     "20", "--prior", prior, "--json", directory / "v.json"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.err;
  };
  EXPECT_THAT(refine("0"), Not(HasSubstr("the residual rises")));
  EXPECT_THAT(refine("1000"), HasSubstr("warning: the residual rises from "));
  EXPECT_THAT(ReadBytes(directory / "v.json"), HasSubstr("Is --prior (1000) too much for them?"));
}

}  // namespace
}  // namespace isocenter::client_test
