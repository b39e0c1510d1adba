#include "kernels/recon/completeness/air_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

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

TEST(AirLevel, IsThatOfTheCalibrationWhereThereIsOne) {
  EllipseScan scan(40, 200, {}, 0.02);
  scan.acquisition.i0_counts = 25000;
  scan.acquisition.calibration = std::make_shared<const ops::Calibration>();
  EXPECT_EQ(Said(scan), "");
}

}  // namespace
}  // namespace isocenter::recon
