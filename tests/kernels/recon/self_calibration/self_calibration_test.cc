// What self-calibration needs and says. What it reaches:
// tests/accuracy/self_calibration_accuracy_test.cc.
#include "kernels/recon/self_calibration/self_calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using testing::HasSubstr;

// Coarse: of whether it runs, not of how well.
CalibrationSearch Short() {
  CalibrationSearch search = DefaultCalibrationSearch({.mu_water_per_mm = kMuWater});
  search.voxels = 20;
  return search;
}

TEST(SelfCalibration, LeavesTrueMatrices) {
  const SmallScan scan = MakeSmallScan(40, 220, 16);
  const auto device = OpenDevice("cpu");
  double done = 0;
  const auto found = CalibrateFromFrames(scan.acquisition, Short(), scan.raw(), {}, TestRegistry(),
                                         *device, [&](double share) {
                                           EXPECT_GE(share, done);
                                           done = share;
                                           return absl::OkStatus();
                                         });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->found());
  EXPECT_EQ(found->moves, std::vector<DetectorMove>(40));
  EXPECT_EQ(found->u_mm, 0);
  EXPECT_EQ(found->roll_rad, 0);
  EXPECT_EQ(found->entropy_after, found->entropy_before);
  EXPECT_EQ(Corrected(scan.acquisition.trajectory, scan.acquisition.detector, *found),
            scan.acquisition.trajectory);
  EXPECT_EQ(done, 1);
}

TEST(SelfCalibration, EndsWithTheErrorOfItsProgress) {
  const SmallScan scan = MakeSmallScan(40, 220, 16);
  const auto device = OpenDevice("cpu");
  const auto found =
      CalibrateFromFrames(scan.acquisition, Short(), scan.raw(), {}, TestRegistry(), *device,
                          [](double) { return absl::CancelledError("enough"); });
  EXPECT_EQ(found.status(), absl::CancelledError("enough"));
}

TEST(SelfCalibration, SaysWhatItLacks) {
  const auto device = OpenDevice("cpu");
  const SmallScan few = MakeSmallScan(31, 220, 16);
  const auto found =
      CalibrateFromFrames(few.acquisition, Short(), few.raw(), {}, TestRegistry(), *device);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("from 31 frames; legal is 32 or more"));
  EXPECT_EQ(CalibrationMemoryOf(few.acquisition, Short(), TestRegistry(), *device).status(),
            found.status());
}

// Every row ends in 40 mm of water.
TEST(SelfCalibration, RefusesFramesThatAreCut) {
  SmallScan scan = MakeSmallScan(40, 220, 16);
  for (float& line : scan.frames) line += 0.8F;
  const auto device = OpenDevice("cpu");
  const auto found =
      CalibrateFromFrames(scan.acquisition, Short(), scan.raw(), {}, TestRegistry(), *device);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("the detector's place cannot be told from frames that do not see the "
                        "whole width: "));
}

TEST(SelfCalibration, SmoothShiftsAreCountedWithoutWhatIsConstant) {
  const SelfCalibration found{
      .moves = {{.u_mm = 3.5, .v_mm = 0}, {.u_mm = 0.5, .v_mm = 0}}, .smooth = true, .u_mm = 0.5};
  EXPECT_DOUBLE_EQ(found.largest_smooth_mm(), 3);
  EXPECT_DOUBLE_EQ(found.smooth_rms_mm(), 3 / std::sqrt(2.0));
}

TEST(CalibrationMemory, GrowsWithTheCubes) {
  const SmallScan scan = MakeSmallScan(40, 220, 16);
  const auto device = OpenDevice("cpu");
  CalibrationSearch search = Short();
  const auto small = CalibrationMemoryOf(scan.acquisition, search, TestRegistry(), *device);
  ASSERT_TRUE(small.ok()) << small.status();
  search.voxels = 80;  // more than what poses by planes take
  const auto large = CalibrationMemoryOf(scan.acquisition, search, TestRegistry(), *device);
  ASSERT_TRUE(large.ok());
  EXPECT_GT(small->host_bytes, 9 * 20 * 20 * 20);
  EXPECT_GT(large->host_bytes, small->host_bytes);
  EXPECT_GT(large->device_bytes, small->device_bytes);
}

}  // namespace
}  // namespace isocenter::recon
