#include "kernels/calibrate/hounsfield_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/phantom/generator.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;

// Water with balls that read 30 HU too much and 3 % too little.
struct Phantom {
  VolumeGrid grid = CenteredGrid(60, 50, 40, {2, 2, 2.5});
  std::vector<float> voxels = std::vector<float>(grid.voxels());
  std::vector<Insert> inserts = {
      {"bone", {20, 0, 0}, 8, 1000}, {"air", {-20, 0, 5}, 8, -1000}, {"water", {0, 20, 0}, 8, 0}};

  Phantom() {
    phantom::Generator draws(2);
    for (int64_t i = 0; i < grid.voxels(); ++i) {
      const Vec3 at = grid.VoxelToWorld(i % 60, i / 60 % 50, i / 3000);
      double hu = 0;
      for (const Insert& insert : inserts) {
        if (Norm(at - insert.center) < 12) hu = insert.true_hu;
      }
      voxels[i] = static_cast<float>(30 + 0.97 * hu + 20 * draws.Normal());
    }
  }
  absl::StatusOr<HounsfieldFit> Fit() const {
    return FitHounsfield({voxels.data(), grid.shape()}, grid, inserts);
  }
};

TEST(HounsfieldFit, TakesMeansOfInserts) {
  const auto fit = Phantom().Fit();
  ASSERT_TRUE(fit.ok()) << fit.status();
  ASSERT_EQ(fit->table.points.size(), 3);
  const double truth[] = {-1000, 0, 1000};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fit->table.points[i].true_hu, truth[i]);
    // 8 mm hold 214 voxels of 20 HU noise: 1.4 HU.
    EXPECT_NEAR(fit->table.points[i].measured_hu, 30 + 0.97 * truth[i], 5);
    EXPECT_NEAR(fit->inserts[i].voxels, 214, 20);
    EXPECT_NEAR(fit->inserts[i].sigma_hu, 20, 4);
  }
  EXPECT_EQ(fit->figures[1].name, "largest error before the table");
  EXPECT_NEAR(fit->figures[1].value, 60, 5);
}

// As a phantom has two of air: one reads 4 HU more.
TEST(HounsfieldFit, InsertsOfOneTrueHuAreOnePoint) {
  Phantom phantom;
  phantom.inserts.push_back({"low air", {-20, 0, 5}, 6, -1000});
  const auto fit = phantom.Fit();
  ASSERT_TRUE(fit.ok()) << fit.status();
  ASSERT_EQ(fit->table.points.size(), 3);
  EXPECT_NEAR(fit->table.points[0].measured_hu, 30 - 970, 5);
  EXPECT_EQ(fit->inserts[0].insert.name, "air+low air");
  EXPECT_THAT(fit->warnings, testing::IsEmpty());
  // One of them lies elsewhere.
  phantom.inserts.back().center = {0, 20, 0};
  EXPECT_THAT(phantom.Fit().status().message(),
              testing::AllOf(HasSubstr("inserts 'air' and 'low air' have one true HU, -1000, and"),
                             HasSubstr("legal are 50 HU between them")));
}

// Water that reads 1 HU, by the noise of its voxels or not.
TEST(HounsfieldFit, ACorrectionOfNoiseIsNamed) {
  Phantom phantom;
  for (float& hu : phantom.voxels) {
    if (std::abs(hu - 30) < 150) hu -= 29;
  }
  const auto fit = phantom.Fit();
  ASSERT_TRUE(fit.ok()) << fit.status();
  ASSERT_THAT(fit->warnings, testing::SizeIs(1));
  EXPECT_THAT(fit->warnings[0],
              testing::AllOf(HasSubstr("insert 'water' reads "),
                             HasSubstr("is within 3 standard errors of the mean (1.")));
}

// A true HU that was typed wrong bends the table both ways beside it; hardening by bone does not.
TEST(HounsfieldFit, NamesAnInsertThatIsOffItsNeighbours) {
  Phantom phantom;
  EXPECT_THAT(phantom.Fit()->warnings, testing::IsEmpty());
  phantom.inserts[2] = {"acrylic", {0, 20, 0}, 8, 490};
  auto fit = phantom.Fit();
  ASSERT_TRUE(fit.ok()) << fit.status();
  ASSERT_THAT(fit->warnings, testing::SizeIs(1));
  EXPECT_THAT(fit->warnings[0], testing::AllOf(HasSubstr("insert 'acrylic' reads "),
                                               HasSubstr("neighbours 'air' and 'bone'"),
                                               HasSubstr("says 490, which is 4")));
  phantom = {};
  for (float& hu : phantom.voxels) hu = hu > 500 ? 1.25f * hu : hu;
  EXPECT_THAT(phantom.Fit()->warnings, testing::IsEmpty());
}

TEST(HounsfieldFit, NamesInsertsOfAnotherSlope) {
  Phantom phantom;
  phantom.inserts = {{"bone", {20, 0, 0}, 8, 340}, {"air", {-20, 0, 5}, 8, -1000}};
  // 1340 for 1940 is a flat one, of too few inserts.
  EXPECT_THAT(phantom.Fit()->warnings,
              testing::ElementsAre(HasSubstr("2 inserts from -1000 to 340 HU make the table")));
  // A steep one moves water out of what is legal.
  phantom.inserts[0].true_hu = 3500;
  EXPECT_THAT(phantom.Fit().status().message(),
              testing::AllOf(HasSubstr("of 0 HU (water); legal are shifts of at most 500"),
                             HasSubstr("'bone' (reads 998.7, true 3500)")));
}

// Balls that reach out of soft inserts: all of what is read is pulled towards water.
TEST(HounsfieldFit, SoftInsertsThatAreNotWhereTheTableSaysAreNamed) {
  Phantom phantom;
  phantom.inserts[0].true_hu = 340;
  phantom.inserts[2] = {"fat", {0, 20, 0}, 8, -100};
  phantom.inserts[1] = {"acrylic", {-20, 0, 5}, 8, 120};
  phantom.inserts.push_back({"air", {0, -20, 0}, 8, -1000});
  phantom::Generator draws(4);
  for (int64_t i = 0; i < phantom.grid.voxels(); ++i) {
    const Vec3 at = phantom.grid.VoxelToWorld(i % 60, i / 60 % 50, i / 3000);
    double hu = 0;
    for (const Insert& insert : phantom.inserts) {
      if (Norm(at - insert.center) < 9) hu = insert.true_hu;
    }
    phantom.voxels[i] = static_cast<float>(0.98 * hu + 20 * draws.Normal());
  }
  auto fit = phantom.Fit();
  ASSERT_TRUE(fit.ok()) << fit.status();
  for (const std::string& warning : fit->warnings) {
    EXPECT_THAT(warning, testing::Not(HasSubstr("a slope from one side")));
  }
  EXPECT_THAT(fit->warnings, testing::Contains(HasSubstr("4 inserts from -1000 to 340 HU make")));

  phantom.inserts[1].center.x += 4.5;
  phantom.inserts[2].center.x += 4.5;
  fit = phantom.Fit();
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_THAT(fit->warnings,
              testing::Contains(testing::AllOf(HasSubstr("insert 'acrylic' has a standard"),
                                               HasSubstr("a slope from one side"))));
  phantom.inserts = {phantom.inserts[1], phantom.inserts[2]};
  EXPECT_THAT(phantom.Fit().status().message(),
              testing::AllOf(HasSubstr("what the table makes of -1000 HU"),
                             HasSubstr("legal is within 100 HU of -1000: an insert of air")));
}

// Noise alike everywhere is no misplaced insert.
TEST(HounsfieldFit, TooMuchNoiseIsCalledThat) {
  Phantom phantom;
  phantom::Generator draws(3);
  for (float& hu : phantom.voxels) hu += static_cast<float>(120 * draws.Normal());
  EXPECT_THAT(phantom.Fit().status().message(),
              testing::AllOf(HasSubstr("the standard deviation of insert 'air' is 1"),
                             HasSubstr("all inserts have such noise"), HasSubstr("hann")));
}

// Air 0 and water 1000, as other people count.
TEST(HounsfieldFit, RefusesAnotherUnit) {
  Phantom phantom;
  for (Insert& insert : phantom.inserts) insert.true_hu += 1000;
  EXPECT_THAT(phantom.Fit().status().message(),
              testing::AllOf(HasSubstr("of -1000 HU (air); legal are shifts of at most 500"),
                             HasSubstr("the inserts are, by their true HU")));
}

TEST(HounsfieldFit, KnowsWhereWaterIsOff) {
  Phantom phantom;
  EXPECT_THAT(WaterOff(phantom.Fit()->inserts), testing::IsEmpty());
  for (float& hu : phantom.voxels) hu += 60;
  const auto warnings = WaterOff(phantom.Fit()->inserts);
  ASSERT_THAT(warnings, testing::SizeIs(1));
  EXPECT_THAT(warnings[0],
              testing::AllOf(HasSubstr("insert 'water' reads "), HasSubstr("true is 0"),
                             HasSubstr("near water within 60 HU")));
}

TEST(HounsfieldFit, AsksForTheTableOfAVolumeThatIsRight) {
  Phantom phantom;
  for (float& hu : phantom.voxels) hu = std::round((hu - 30) / 0.97f / 500) * 500;
  const auto fit = phantom.Fit();
  ASSERT_TRUE(fit.ok()) << fit.status();
  ASSERT_THAT(fit->warnings, testing::SizeIs(1));
  EXPECT_THAT(fit->warnings[0], HasSubstr("was the volume made with a table already?"));
}

TEST(HounsfieldFit, RefusesWhatIsNotThere) {
  Phantom phantom;
  const auto error = [&] { return std::string(phantom.Fit().status().message()); };
  phantom.inserts[0].center.x = 55;
  EXPECT_THAT(error(),
              HasSubstr("insert 'bone' at (55, 0, 0) with a radius of 8 mm is not within"));
  phantom.inserts[0].center.x = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error(), HasSubstr("is not within"));
  phantom.inserts[0] = {"bone", {10, 0, 0}, 8, 1000};
  EXPECT_THAT(error(), HasSubstr("the standard deviation of insert 'bone' is"));
  phantom.inserts[0] = {"bone", {20, 0, 0}, 3, 1000};
  EXPECT_THAT(error(), HasSubstr("the number of voxels of insert 'bone' is 8; legal is 30"));
  phantom.inserts[0] = {"fat", {20, 0, 0}, 8, -100};
  EXPECT_THAT(error(), HasSubstr("the HU table goes from"));
  phantom = {};
  phantom.voxels.assign(phantom.voxels.size(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(error(), HasSubstr("is nan HU"));
}

TEST(ParseInserts, ReadsATable) {
  const auto inserts =
      ParseInserts("# name x y z r HU\nair 1 2 -3.5 8 -1000\n\nbone,4,5,6,7,1e3 #\n");
  ASSERT_TRUE(inserts.ok()) << inserts.status();
  ASSERT_EQ(inserts->size(), 2);
  EXPECT_EQ((*inserts)[0].name, "air");
  EXPECT_EQ((*inserts)[0].center, (Vec3{1, 2, -3.5}));
  EXPECT_EQ((*inserts)[1].radius_mm, 7);
  EXPECT_EQ((*inserts)[1].true_hu, 1000);
}

TEST(ParseInserts, NamesTheLine) {
  const auto error = [](absl::string_view text) {
    return std::string(ParseInserts(text).status().message());
  };
  EXPECT_THAT(error("air 1 2 3 4 5\nbone 1 2 3 4\n"), HasSubstr("line 2 is 'bone 1 2 3 4'"));
  EXPECT_THAT(error("air 1 2 3 x 5\n"), HasSubstr("line 1"));
  EXPECT_THAT(error("air 1 2 3 nan 5\n"), HasSubstr("line 1"));
  EXPECT_THAT(error("air 1 2 3 0.5 5\n"), HasSubstr("a radius of 1 to 100"));
  EXPECT_THAT(error(""), HasSubstr("the table has 0 inserts; legal is 2 to 32"));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a 1 2 3 4 5\n";
  EXPECT_THAT(error(many), HasSubstr("more than 32 inserts"));
}

}  // namespace
}  // namespace isocenter::calibrate
