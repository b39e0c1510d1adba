// isocenter reconstruct --truncation, by the binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "client/formats/meta_image.h"
#include "tests/client/command.h"
#include "tests/client/xa_file.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Truncation, EachMethodMakesAVolumeOfItsOwn) {
  const TemporaryDirectory directory;
  const std::string run = (directory / "run.dcm").string();
  const std::string mha = (directory / "volume.mha").string();
  XaFile file;
  file.spheres = {{{0, 0, 0}, 150, 0.01}};  // wider than the detector sees
  ASSERT_TRUE(WriteXa(run, file));
  const std::pair<const char*, const char*> methods[] = {
      {"none", "of Nyquist\n"},
      {"mirror", "cut rows go on mirrored\n"},
      {"cylinder", "cut rows go on as cylinders\n"},
      {"atract", "cut rows by ATRACT\n"}};
  std::set<std::vector<float>> volumes;
  for (const auto& [method, plan] : methods) {
    const Outcome outcome =
        RunCommand({"reconstruct", "--overwrite", run, "--out", mha, "--grid", "24x24x8",
                    "--voxel-mm", "3", "--truncation", method, "--print-plan"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(plan)) << method;
    const auto volume = formats::ReadMetaImage(mha);
    ASSERT_TRUE(volume.ok()) << volume.status();
    volumes.insert(volume->voxels);
    if (std::string(method) == "none") {
      EXPECT_THAT(outcome.err,
                  HasSubstr("more than 25 % of the rows end with line integrals of up to"));
      EXPECT_THAT(outcome.err, HasSubstr("without --truncation cylinder the volume is wrong"));
    } else {
      EXPECT_THAT(outcome.err, Not(HasSubstr("of the rows end")));
    }
  }
  EXPECT_EQ(volumes.size(), 4u);
}

TEST(Truncation, AnotherMethodIsRefusedWithThoseThatThereAre) {
  const Outcome outcome =
      RunCommand({"reconstruct", "--overwrite", "run", "--out", "v.mha", "--truncation", "fade"});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("fade"));
  EXPECT_THAT(outcome.err, HasSubstr("cylinder"));
}

}  // namespace
}  // namespace isocenter::client_test
