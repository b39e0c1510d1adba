#include "server/daemon/simulated_scans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/config/server_config.h"
#include "tests/server/fakes/eventually.h"
#include "tests/server/fakes/service_under_test.h"

namespace isocenter::daemon {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;
using testing::PipelineUnderTest;

// So slow that no chunk is complete while a test looks: the reference backend takes minutes for
// one.
constexpr double kSlow = 2;

class SimulatedScansTest : public ::testing::Test {
 protected:
  void Start(int64_t memory_bytes = int64_t{1} << 30) {
    service_ =
        std::make_unique<PipelineUnderTest>(testing::PipelineOptions{.memory_bytes = memory_bytes});
    scans_ =
        std::make_unique<SimulatedScans>(protocols_, *service_->table, *service_->engine, kSlow);
  }
  absl::StatusOr<jobs::JobSnapshot> Begin() {
    absl::StatusOr<jobs::JobSnapshot> told = absl::UnknownError("nothing was told");
    absl::Notification done;
    scans_->Begin("ward 3", [&](absl::StatusOr<jobs::JobSnapshot> job) {
      told = std::move(job);
      done.Notify();
    });
    done.WaitForNotification();
    return told;
  }
  jobs::JobSnapshot Now(const std::string& id) { return *service_->table->Get(id); }

  static v1::ServerConfig Defaults() {
    v1::ServerConfig config;
    config::ApplyDefaults(config);
    return config;
  }

  const config::ProtocolBook protocols_ = *config::ProtocolBook::Make(Defaults());
  std::unique_ptr<PipelineUnderTest> service_;
  std::unique_ptr<SimulatedScans> scans_;
};

TEST_F(SimulatedScansTest, FramesArriveAsFromAConsole) {
  Start();
  const absl::StatusOr<jobs::JobSnapshot> begun = Begin();
  ASSERT_TRUE(begun.ok()) << begun.status();
  const jobs::Job& job = **begun;
  EXPECT_EQ(job.station_name, "simulator");
  EXPECT_EQ(job.patient_study.patient_id, "SIMULATED");
  EXPECT_EQ(job.job_class, jobs::JobClass::kInteractive) << "live scans go before it";
  EXPECT_EQ(job.begun_by, "simulated for ward 3");
  EXPECT_TRUE(Eventually([&] { return Now(job.id)->progress.frames_received >= 2; }));
}

TEST_F(SimulatedScansTest, OneAtATime) {
  Start();
  const std::string first = (*Begin())->id;
  const absl::Status second = Begin().status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr("'" + first + "' is under way"));
  ASSERT_TRUE(service_->engine->Cancel(first, absl::CancelledError("enough")).ok());
  // Its sender notices with the next frame.
  EXPECT_TRUE(Eventually([&] { return Begin().ok(); }));
}

TEST_F(SimulatedScansTest, WhatIsRefusedLeavesNothingBehind) {
  Start(1 << 20);
  EXPECT_EQ(Begin().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Begin().status().code(), absl::StatusCode::kResourceExhausted)
      << "another one may be asked for";
  EXPECT_TRUE(service_->HoldsNothing());
}

TEST_F(SimulatedScansTest, AStopEndsTheScanAndSaysWhy) {
  Start();
  const std::string id = (*Begin())->id;
  scans_->Stop();
  EXPECT_TRUE(Eventually([&] { return jobs::HasEnded(Now(id)->state); }));
  EXPECT_EQ(Now(id)->state, jobs::JobState::kFailed);
  EXPECT_THAT(std::string(Now(id)->error.message()),
              HasSubstr("the service stopped during the simulated scan"));
  EXPECT_EQ(Begin().status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace isocenter::daemon
