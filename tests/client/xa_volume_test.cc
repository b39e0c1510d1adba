// From a DICOM XA run to a volume in the patient's axes, by the binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/formats/meta_image.h"
#include "tests/client/command.h"
#include "tests/client/xa_file.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

// No mirror and no turn maps these onto themselves: another distance along each axis.
const std::vector<Sphere> kMarks = {
    {{36, 0, 0}, 9, 0.02}, {{0, 26, 0}, 9, 0.02}, {{0, 0, 18}, 9, 0.02}};

double At(const formats::Volume& volume, Vec3 point) {
  const Vec3 index = volume.grid.WorldToVoxel(point);
  const auto near = [](double i) { return static_cast<int64_t>(std::lround(i)); };
  return volume
      .voxels[(near(index.z) * volume.grid.ny + near(index.y)) * volume.grid.nx + near(index.x)];
}

void ExpectMarksInPlace(XaFile run) {
  run.spheres = kMarks;
  const TemporaryDirectory directory;
  const std::string dicom = (directory / "run.dcm").string();
  const std::string mha = (directory / "volume.mha").string();
  ASSERT_TRUE(WriteXa(dicom, run));
  const Outcome outcome = RunCommand({"reconstruct", "--overwrite", dicom, "--out", mha, "--grid",
                                      "48x48x32", "--voxel-mm", "2.5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("note: an ideal orbit is assumed"));
  const auto volume = formats::ReadMetaImage(mha);
  ASSERT_TRUE(volume.ok()) << volume.status();
  for (const Sphere& mark : kMarks) {
    // Water in the middle of each; nothing at its mirror images. The pixels are coarse and the
    // spheres small, hence the margin; a wrong axis shows as 1000 HU.
    EXPECT_NEAR(At(*volume, mark.center), 0, 250);
    EXPECT_NEAR(At(*volume, -mark.center), -1000, 250);
  }
}

TEST(XaVolume, HeadFirstSupine) { ExpectMarksInPlace({}); }

TEST(XaVolume, FromRightToLeftAndBack) {
  ExpectMarksInPlace({.first_deg = 100, .step_deg = -200.0 / 59, .vector_of_offsets = true});
}

TEST(XaVolume, AngulatedAndEnhanced) { ExpectMarksInPlace({.secondary_deg = 5, .enhanced = true}); }

TEST(XaVolume, OtherPositionsByPatientOrientation) {
  ExpectMarksInPlace(
      {.turned_images = true, .patient_position = "FFS", .patient_orientation = "R\\H"});
}

TEST(XaVolume, EveryPatientPosition) {
  // The angles are about the patient, and so is the volume, however the table stands in the world.
  for (const char* position : {"HFP", "HFDR", "FFDL"}) {
    SCOPED_TRACE(position);
    ExpectMarksInPlace({.patient_position = position, .patient_orientation = "L\\F"});
  }
}

TEST(XaVolume, LogarithmicAndCompressed) {
  ExpectMarksInPlace({.relationship = "LOG",
                      .log_table = true,
                      .bits_stored = 12,
                      .syntax = EXS_JPEGProcess14SV1});
}

TEST(XaVolume, SimulatedRunsAreReadBack) {
  const TemporaryDirectory directory;
  const auto path = [&](const char* name) { return (directory / name).string(); };
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "head", "--frames", "40", "--detector", "64x48",
                        "--pitch-mm", "6", "--out", path("run.dcm"), "--matrices", path("m.csv"),
                        "--accession", "A9"})
                .exit_code,
            0);
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "head", "--frames", "40", "--detector", "64x48",
                        "--pitch-mm", "6", "--out", path("bundle")})
                .exit_code,
            0);
  const std::vector<std::string> grid = {"--grid", "24x24x24", "--voxel-mm", "6"};
  const auto volume = [&](std::vector<std::string> command) {
    command.insert(command.begin(), {"reconstruct", "--overwrite"});
    command.insert(command.end(), {"--out", path("v.mha")});
    command.insert(command.end(), grid.begin(), grid.end());
    const Outcome outcome = RunCommand(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return formats::ReadMetaImage(path("v.mha"))->voxels;
  };
  const auto bundle = volume({path("bundle")});
  const auto measured = volume({path("run.dcm"), "--projections", path("m.csv"), "--i0", "60000"});
  ASSERT_EQ(bundle.size(), measured.size());
  for (size_t i = 0; i < bundle.size(); ++i) {
    // The same rays, in columns of the other order; rounding of counts and of float32 sums.
    ASSERT_NEAR(bundle[i], measured[i], 1) << i;
  }
}

TEST(XaVolume, TheCurvesNameIsCheckedBeforeAnythingIsRead) {
  const Outcome outcome = RunCommand(
      {"reconstruct", "nothing", "--out", "v.mha", "--algorithm", "sirt", "--curve", "c.txt"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--curve is 'c.txt'; legal is"));
}

}  // namespace
}  // namespace isocenter::client_test
