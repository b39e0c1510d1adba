#include "kernels/recon/completeness/air_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// What is said, and that it is said once.
std::string Said(const EllipseScan& scan, double dose = 0) {
  AirLevel air(scan.acquisition);
  int said = 0;
  for (int view = 0; view < scan.views(); ++view) said += air.Add(scan.Rows(view), dose) ? 1 : 0;
  EXPECT_LE(said, 1);
  return said == 0 ? "" : air.Text();
}

TEST(AirLevel, IsToldWhereI0IsWrong) {
  EllipseScan scan(40, 200, {}, 0.02);  // air at 50000
  EXPECT_EQ(Said(scan), "");
  scan.acquisition.i0_counts = 60000;
  EXPECT_THAT(Said(scan), AllOf(HasSubstr("in air, where i0_counts is 60000"), HasSubstr("+0.18"),
                                HasSubstr("legal is 57074 to 63076 counts")));
  scan.acquisition.i0_counts = 40000;
  EXPECT_THAT(Said(scan), HasSubstr("-0.22"));
  for (const double i0 : {25000.0, 65535.0}) {
    scan.acquisition.i0_counts = i0;
    EXPECT_NE(Said(scan), "") << i0;
  }
  for (const double i0 : {48000.0, 52000.0}) {
    scan.acquisition.i0_counts = i0;
    EXPECT_EQ(Said(scan), "") << i0;
  }
}

TEST(AirLevel, IsRelativeToTheDoseThatIsTold) {
  EllipseScan scan(40, 200, {}, 0.02);
  scan.acquisition.i0_counts = 25000;
  EXPECT_EQ(Said(scan, 2), "");
}

TEST(AirLevel, AnObjectThatTheDetectorCutsIsNoAir) {
  EXPECT_EQ(Said(EllipseScan(40, 200, {.a_mm = 120, .b_mm = 105}, 0.02)), "");
  EXPECT_EQ(Said(EllipseScan(40, 200, {.a_mm = 200, .b_mm = 130}, 0.02)), "");
}

/// A scan with a set whose air is so many counts; true are 50000. i0_counts is of no matter then.
EllipseScan WithAir(float counts, int strips = 0) {
  EllipseScan scan(40, 200, {}, 0.02);
  auto set = std::make_shared<ops::Calibration>();
  set->name = "room3";
  const size_t pixels = size_t{256} * 16;
  set->response.emplace();
  set->response->offset_counts.assign(pixels, 0);
  set->response->air_counts.assign(pixels, counts);
  set->air.columns = strips;
  scan.acquisition.calibration = std::move(set);
  scan.acquisition.i0_counts = 25000;
  return scan;
}

TEST(AirLevel, IsThatOfTheCalibrationWhereThereIsOne) {
  EXPECT_EQ(Said(WithAir(50000)), "");
  EXPECT_THAT(Said(WithAir(55600)),
              AllOf(HasSubstr("the rows end at 0.90 times the air of calibration 'room3'"),
                    HasSubstr("(1, as nothing tells it)"), HasSubstr("off by +0.11"),
                    HasSubstr("legal is 0.95 to 1.05 times")));
  EXPECT_THAT(Said(WithAir(45000)), HasSubstr("off by -0.11"));
  // Without maps counts are divided by i0_counts all the same.
  EllipseScan bare(40, 200, {}, 0.02);
  bare.acquisition.i0_counts = 25000;
  bare.acquisition.calibration = std::make_shared<const ops::Calibration>();
  EXPECT_THAT(Said(bare), HasSubstr("where i0_counts is 25000"));
}

TEST(AirLevel, DosesThatAreReadFromAirAreRightAndThoseThatAreToldMayBeWrong) {
  EXPECT_EQ(Said(WithAir(25000, 32)), "");
  EXPECT_EQ(Said(WithAir(25000, 32), 2), "");
  EXPECT_EQ(Said(WithAir(25000), 2), "");
  for (const int strips : {0, 32}) {
    EXPECT_THAT(Said(WithAir(25000, strips), 1.8), HasSubstr("(as they tell it)")) << strips;
  }
}

TEST(AirLevel, SaysNothingWhereAirIsAnotherOneAtEachAngle) {
  EllipseScan scan = WithAir(45000);
  auto set = std::make_shared<ops::Calibration>(*scan.acquisition.calibration);
  set->air_sweep = {.angles = {0}, .relative = std::vector<float>(16, 0.9F)};
  scan.acquisition.calibration = std::move(set);
  EXPECT_EQ(Said(scan), "");
}

}  // namespace
}  // namespace isocenter::recon
