#include "server/daemon/scan_conditions.h"

#include <gtest/gtest.h>

#include "absl/time/time.h"
#include "kernels/quality/conditions.h"
#include "proto/wire/quality_conditions.h"
#include "tests/server/fakes/fake_stores.h"

namespace isocenter::daemon {
namespace {

class ScanConditionsTest : public ::testing::Test {
 protected:
  quality::Conditions Of(const std::string& job) {
    return wire::ConditionsFromProto(ConditionsOfJob(table_, job));
  }
  jobs::Job Job(const std::string& id, double day) {
    jobs::Job job{.id = id};
    job.grid = CenteredGrid(64, 64, 64, {0.5, 0.5, 0.75});
    job.facts.filter_description = "hann 0.70";
    job.facts.tube_voltage_kv = 90;
    job.create_time = absl::FromUnixSeconds(1'760'000'000) + day * absl::Hours(24);
    return job;
  }

  isocenter::testing::FakeJobStore store_;
  jobs::JobTable table_{store_, nullptr};
};

TEST_F(ScanConditionsTest, AreThoseOfTheJobAndOfItsFrames) {
  jobs::Job scan = Job("scan", 0), refined = Job("refined", 3);
  scan.facts.calibration = jobs::UsedCalibration{.name = "room1-a"};
  refined.facts = scan.facts;
  refined.source_job_ids = {"scan"};
  refined.refinement.algorithm = "os_sart";
  ASSERT_TRUE(table_.Insert(scan).ok());
  ASSERT_TRUE(table_.Insert(refined).ok());
  const quality::Conditions of_scan = Of("scan"), of_refined = Of("refined");
  EXPECT_EQ(of_scan.voxel_mm.z, 0.75);
  EXPECT_EQ(of_scan.filter, "hann 0.70");
  EXPECT_EQ(of_scan.calibration, "room1-a");
  EXPECT_EQ(of_scan.tube_voltage_kv, 90);
  // A refinement is of the same frames, of the day on which they were acquired.
  EXPECT_EQ(of_refined.frames, of_scan.frames);
  EXPECT_EQ(of_refined.acquired, scan.create_time);
  EXPECT_EQ(of_refined.filter, "os_sart; hann 0.70");
  EXPECT_EQ(of_refined.calibration, "room1-a");
  ASSERT_TRUE(table_.Insert(Job("raw", 4)).ok());
  EXPECT_EQ(Of("raw").calibration, quality::kUncorrectedScan);
}

TEST_F(ScanConditionsTest, AreTheFramesAloneOfAJobThatIsGone) {
  const quality::Conditions conditions = Of("gone");
  EXPECT_EQ(conditions.frames, quality::FramesOfJob("gone"));
  EXPECT_EQ(conditions.filter, "");
  EXPECT_EQ(conditions.calibration, "");
  EXPECT_EQ(conditions.acquired, absl::InfinitePast());
}

}  // namespace
}  // namespace isocenter::daemon
