// `isocenter compare` of what can hardly be compared: it says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "client/formats/meta_image.h"
#include "client/imaging/comparable.h"
#include "kernels/phantom/phantom.h"
#include "tests/client/command.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// A ball of `inside` in `outside`, 16 voxels of 2 mm along each axis.
formats::Volume Ball(float inside, float outside) {
  formats::Volume volume{.grid = CenteredGrid(16, 16, 16, {2, 2, 2})};
  for (int k = 0; k < 16; ++k) {
    for (int j = 0; j < 16; ++j) {
      for (int i = 0; i < 16; ++i) {
        volume.voxels.push_back(Norm(volume.grid.VoxelToWorld(i, j, k)) < 10 ? inside : outside);
      }
    }
  }
  return volume;
}

TEST(Comparable, HounsfieldUnitsAreNotDoubtedAndOtherNumbersAre) {
  const auto doubt = [](std::vector<float> values) {
    return imaging::DoubtfulHounsfield("v", values);
  };
  EXPECT_THAT(doubt({-1000, 0, 1500}), IsEmpty());
  EXPECT_THAT(doubt({-40, 35}), IsEmpty());  // within a brain
  EXPECT_THAT(doubt({0, 0}), IsEmpty());
  EXPECT_THAT(doubt({0, 0.0206F}), HasSubstr("v has values of 0 to 0.0206, as attenuation or"));
  EXPECT_THAT(doubt({-0.01F, 7.5F}), HasSubstr("line integrals"));
  EXPECT_THAT(doubt({120, 60000}), HasSubstr("none below 0, as counts of a detector"));
}

TEST(Comparable, GridsThatDifferAreNamed) {
  const VolumeGrid grid = CenteredGrid(4, 4, 4, {1, 1, 1});
  EXPECT_THAT(imaging::GridDifferences("a", grid, "b", grid), IsEmpty());
  VolumeGrid turned = grid;
  turned.direction = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  EXPECT_THAT(imaging::GridDifferences("a", grid, "b", turned),
              testing::ElementsAre(HasSubstr("the axes of a and b differ by up to 90 degrees")));
  EXPECT_THAT(imaging::GridDifferences("a", grid, "b", CenteredGrid(2, 4, 4, {2, 1, 1})),
              testing::ElementsAre(HasSubstr("a has 4 x 4 x 4 voxels of 1 x 1 x 1 mm, b has 2 x 4 "
                                             "x 4 voxels of 2 x 1 x 1 mm")));
}

TEST(Compare, SaysThatItDoesNotKnowTheUnit) {
  TemporaryDirectory directory;
  const std::string a = directory / "a.mha", b = directory / "b.mha";
  ASSERT_TRUE(formats::WriteMetaImage(a, Ball(0, -1000)).ok());
  ASSERT_TRUE(formats::WriteMetaImage(b, Ball(20, -1000)).ok());
  const Outcome outcome = RunCommand({"compare", a, "--truth", b, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(a + " and " + b + " do not say the unit"),
                                 Not(HasSubstr("warning"))));
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["unit"], "unstated");
  EXPECT_EQ(json["voxels"], 4096);
  EXPECT_THAT(json["warnings"], IsEmpty());
}

TEST(Compare, WarnsOfAttenuationOfOtherAxesAndOfLittleThatIsShared) {
  TemporaryDirectory directory;
  const std::string a = directory / "a.mha", b = directory / "b.mha";
  ASSERT_TRUE(formats::WriteMetaImage(a, Ball(0, -1000)).ok());
  formats::Volume other = Ball(0.02F, 0);
  other.grid.direction = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  other.grid.origin.z += 20;
  ASSERT_TRUE(formats::WriteMetaImage(b, other).ok());
  const Outcome outcome = RunCommand({"compare", a, "--truth", b, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("warning: " + b + " has values of 0 to 0.02"),
                                 HasSubstr("differ by up to 90 degrees"),
                                 HasSubstr("voxels of " + a + " lie within " + b)));
  EXPECT_THAT(nlohmann::json::parse(outcome.out)["warnings"], SizeIs(3));
}

/// Figures of a splinter are not those of the region that it lies in.
TEST(Compare, GivesNoFiguresOfRegionsThatTheVolumeHasNot) {
  TemporaryDirectory directory;
  const std::string file = directory / "v.mha";
  formats::Volume ball = Ball(0, -1000);
  ball.facts.unit = "HU";
  ASSERT_TRUE(formats::WriteMetaImage(file, ball).ok());
  const Outcome outcome = RunCommand({"compare", file, "--phantom", "cylinder", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  // Of a cube of 32 mm: 20480 of 226195 mm³ of the slab, 32768 of 113097 and 904779 mm³ of spheres.
  EXPECT_THAT(outcome.err,
              testing::ContainsRegex(
                  "has 9[.0-9]* % of the central slab .no figures., (28|29)[.0-9]* % of the sphere "
                  "30 mm .no figures., 3.6[0-9]* % of the sphere 60 mm .no figures.;"));
  const auto regions = nlohmann::json::parse(outcome.out)["regions"];
  EXPECT_NEAR(regions["sphere_30_mm"]["covered"], 0.29, 0.005);
  EXPECT_FALSE(regions["sphere_30_mm"].contains("rmse_hu"));
  EXPECT_EQ(regions["whole"]["covered"], 1);
  EXPECT_TRUE(regions["whole"].contains("rmse_hu"));
  const Outcome table = RunCommand({"compare", file, "--phantom", "cylinder"});
  EXPECT_THAT(table.out, testing::ContainsRegex("sphere 60 mm +4096 +3.6[0-9]* % +- +- +-"));
}

/// Volumes whose files tell the unit are compared without a word about it; another unit is told.
TEST(Compare, KnowsTheUnitThatFilesTell) {
  TemporaryDirectory directory;
  const std::string a = directory / "a.mha", b = directory / "b.mha";
  formats::Volume ball = Ball(0, -1000);
  ball.facts.unit = "HU";
  ASSERT_TRUE(formats::WriteMetaImage(a, ball).ok());
  ASSERT_TRUE(formats::WriteMetaImage(b, ball).ok());
  const Outcome outcome = RunCommand({"compare", a, "--truth", b, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("the unit of the numbers")));
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["unit"], "HU");
  ball.facts.unit = "units of 1";
  ASSERT_TRUE(formats::WriteMetaImage(b, ball).ok());
  EXPECT_THAT(RunCommand({"compare", a, "--truth", b}).err,
              HasSubstr("says that its unit is 'units of 1'; legal is HU"));
}

/// A volume that is the phantom's mean in each voxel is right, also at its edges.
TEST(Compare, OfAPhantomIsAgainstVoxelsMeans) {
  TemporaryDirectory directory;
  const std::string file = directory / "v.mha";
  formats::Volume volume{.grid = CenteredGrid(48, 48, 24, {3, 3, 3})};
  volume.voxels.resize(volume.grid.voxels());
  const auto object = *phantom::MakePhantom("cylinder", 60, 0.02);
  ThreadPool pool(2);
  phantom::Rasterize(*object, volume.grid, 0.02, 8, pool,
                     {volume.voxels.data(), volume.grid.shape()});
  ASSERT_TRUE(formats::WriteMetaImage(file, volume).ok());
  const auto rmse = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"compare", file, "--phantom", "cylinder", "--scale-mm", "60", "--json"});
    const auto json = nlohmann::json::parse(RunCommand(more).out);
    std::printf("%s: %.2f HU\n", json["truth_sampling"].get<std::string>().c_str(),
                json["regions"]["whole"]["rmse_hu"].get<double>());
    return json["regions"]["whole"]["rmse_hu"].get<double>();
  };
  const double means = rmse({}), points = rmse({"--subsamples", "1"});
  // 27 points know a mean to a ninth of what one does, or better where edges are straight.
  EXPECT_LT(means, points / 3);
  EXPECT_GT(points, 30);
}

/// The mean of a phantom in each voxel, moved and with noise.
formats::Volume Made(const std::string& name, double scale_mm, double noise_hu) {
  formats::Volume volume{.grid = CenteredGrid(120, 120, 40, {2, 2, 2})};
  volume.facts.unit = "HU";
  volume.voxels.resize(volume.grid.voxels());
  VolumeGrid moved = volume.grid;
  moved.origin.x += 3;
  ThreadPool pool(2);
  phantom::Rasterize(**phantom::MakePhantom(name, scale_mm, 0.02), moved, 0.02, 2, pool,
                     {volume.voxels.data(), volume.grid.shape()});
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, static_cast<float>(noise_hu));
  for (float& voxel : volume.voxels) voxel += noise(random);
  return volume;
}

/// Whatever the phantom is: the right one that lies 3 mm aside in 300 HU of noise is it, and one of
/// another size or of another kind is not. (`quality` of the same radius is not told from
/// `catphan`.)
TEST(Compare, TellsAnotherPhantomFromTheRightOne) {
  TemporaryDirectory directory;
  const std::string file = directory / "v.mha";
  const auto said = [&](const std::string& phantom, const char* scale_mm) {
    const Outcome outcome = RunCommand(
        {"compare", file, "--phantom", phantom, "--scale-mm", scale_mm, "--subsamples", "1"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.err;
  };
  for (const std::string& name : phantom::PhantomNames()) {
    ASSERT_TRUE(formats::WriteMetaImage(file, Made(name, 80, 300)).ok());
    EXPECT_THAT(said(name, "80"), Not(HasSubstr("warning"))) << name;
  }
  ASSERT_TRUE(formats::WriteMetaImage(file, Made("catphan", 80, 20)).ok());
  for (const char* other : {"64", "100"}) {
    EXPECT_THAT(said("catphan", other),
                AllOf(HasSubstr("warning: " + file +
                                " does not look like the phantom catphan of "
                                "--scale-mm " +
                                other),
                      HasSubstr("outlines or cavities differ")));
  }
  EXPECT_THAT(said("head", "80"), HasSubstr("does not look like the phantom head"));
}

}  // namespace
}  // namespace isocenter::client_test
