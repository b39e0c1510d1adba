// What a search for motion needs and says. What it reaches: tests/accuracy/motion_accuracy_test.cc.
#include "kernels/recon/motion/find_motion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using testing::HasSubstr;

// One coarse step: of whether it runs, not of how well.
MotionSearch Short(int views) {
  MotionSearch search = DefaultMotionSearch(views, {.mu_water_per_mm = kMuWater});
  search.levels = {{4, 20}};
  search.iterations = 6;
  return search;
}

TEST(FindMotion, LeavesAStillObjectWhereItIs) {
  const SmallScan scan = MakeSmallScan(40, 220, 16);
  const auto device = OpenDevice("cpu");
  double done = 0;
  const auto found = FindMotion(scan.acquisition, Short(40), scan.raw(), {}, TestRegistry(),
                                *device, [&](double share) {
                                  EXPECT_GE(share, done);
                                  done = share;
                                  return absl::OkStatus();
                                });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->moved);
  EXPECT_EQ(found->poses, std::vector<RigidPose>(40));
  EXPECT_GT(found->evaluations, 0);
  EXPECT_GT(done, 0);
}

// A volume is on the scale of what has corrected its frames, whatever the protocol says of water.
TEST(FindMotion, CountsByTheWaterOfTheCalibration) {
  SmallScan scan = MakeSmallScan(40, 220, 16);
  const auto device = OpenDevice("cpu");
  MotionSearch search = Short(40);
  search.iterations = 1;
  const auto entropy = [&] {
    const auto found =
        FindMotion(scan.acquisition, search, scan.raw(), {}, TestRegistry(), *device);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? found->entropy_before : 0;
  };
  const double right = entropy();
  search.fdk.mu_water_per_mm = 2.5 * kMuWater;
  EXPECT_GT(std::abs(entropy() - right), 0.1);
  scan.acquisition.corrected_by =
      std::make_shared<const ops::Calibration>(ops::Calibration{.mu_water_per_mm = kMuWater});
  EXPECT_EQ(entropy(), right);
}

TEST(FindMotion, EndsWithTheErrorOfItsProgress) {
  const SmallScan scan = MakeSmallScan(40, 220, 16);
  const auto device = OpenDevice("cpu");
  const auto found = FindMotion(scan.acquisition, Short(40), scan.raw(), {}, TestRegistry(),
                                *device, [](double) { return absl::CancelledError("enough"); });
  EXPECT_EQ(found.status(), absl::CancelledError("enough"));
}

TEST(FindMotion, SaysWhatItLacks) {
  const auto device = OpenDevice("cpu");
  const SmallScan few = MakeSmallScan(31, 220, 16);
  auto found = FindMotion(few.acquisition, Short(31), few.raw(), {}, TestRegistry(), *device);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("from 31 frames; legal is 32 or more"));
  EXPECT_EQ(MotionMemoryOf(few.acquisition, Short(31), TestRegistry(), *device).status(),
            found.status());

  SmallScan short_of_frames = MakeSmallScan(40, 220, 16);
  short_of_frames.acquisition.trajectory.pop_back();
  const ops::RawFrames one_less{
      .line_integrals = {short_of_frames.frames.data(), short_of_frames.frame_shape()}};
  short_of_frames.acquisition.trajectory.push_back(short_of_frames.acquisition.trajectory.back());
  found = FindMotion(short_of_frames.acquisition, Short(40), one_less, {}, TestRegistry(), *device);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument);
}

// Every row ends in 40 mm of water.
TEST(FindMotion, RefusesFramesThatAreCut) {
  SmallScan scan = MakeSmallScan(40, 220, 16);
  for (float& line : scan.frames) line += 0.8F;
  const auto device = OpenDevice("cpu");
  const auto found =
      FindMotion(scan.acquisition, Short(40), scan.raw(), {}, TestRegistry(), *device);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("cannot be told from frames that do not see the whole width: "));
}

TEST(MotionMemory, GrowsWithTheFinestLevel) {
  const SmallScan scan = MakeSmallScan(40, 220, 16);
  const auto device = OpenDevice("cpu");
  MotionSearch search = Short(40);
  const auto small = MotionMemoryOf(scan.acquisition, search, TestRegistry(), *device);
  ASSERT_TRUE(small.ok()) << small.status();
  // Two volumes of float32 and what counts of them, at least.
  EXPECT_GT(small->host_bytes, 9 * 20 * 20 * 20);
  EXPECT_GT(small->device_bytes, 4 * 20 * 20 * 20);
  search.levels.push_back({4, 96});
  const auto large = MotionMemoryOf(scan.acquisition, search, TestRegistry(), *device);
  ASSERT_TRUE(large.ok());
  EXPECT_GT(large->host_bytes, small->host_bytes);
}

TEST(AboutTheirMean, LeavesOneMotionInAnotherFrame) {
  std::vector<RigidPose> poses;
  for (int i = 0; i < 20; ++i) {
    const double t = 0.2 * i;
    poses.push_back({.turn_rad = {0.05 + 0.02 * std::sin(t), 0.03 * std::cos(t), -0.04},
                     .shift_mm = {3 + std::sin(t), -2, 4 * std::cos(t)}});
  }
  const std::vector<RigidPose> about = AboutTheirMean(poses);
  Vec3 turn, shift;
  for (const RigidPose& pose : about) {
    turn = turn + pose.turn_rad;
    shift = shift + pose.shift_mm;
  }
  EXPECT_LT(Norm(turn), 1e-6);
  EXPECT_LT(Norm(shift), 1e-4);
  // T_i · T_0⁻¹ is the same of both.
  for (size_t i = 1; i < poses.size(); ++i) {
    const Vec3 point{30, -20, 50};
    const auto moved = [&](const std::vector<RigidPose>& all) {
      return TransformOf(all[i])(Inverse(TransformOf(all[0]))(point));
    };
    EXPECT_LT(Norm(moved(poses) - moved(about)), 1e-9);
  }
}

}  // namespace
}  // namespace isocenter::recon
