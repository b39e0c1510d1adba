// What interrupts a refinement: kill -9 at any moment, a live scan, cancelling, its deadline.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/job_client.h"
#include "tests/fault/campaign.h"
#include "tests/fault/daemon.h"
#include "tests/fault/scan_console.h"
#include "tests/fault/small_scan.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr double kPromisedMs = 100;

class RefineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream config(directory_.path() / "isocenterd.textproto");
    for (const auto& [name, iterations] : {std::pair("brief", 3), std::pair("endless", 1000)}) {
      config << "protocol { name: \"" << name << "\" refinement { iterations: " << iterations
             << " algorithm: REFINEMENT_ALGORITHM_OS_SART subsets: 8 } }\n";
    }
    // Of so little water that the middle of the scan is metal.
    config << "protocol { name: \"metal\" mu_water_per_mm: 0.007 refinement { second_pass { metal: "
              "true } } }\n";
    config.close();
    StartServer();
  }
  void StartServer() {
    daemon_ = std::make_unique<Daemon>(
        (directory_.path() / "archive").string(),
        std::vector<std::string>{
            absl::StrCat("--grpc_address=127.0.0.1:", port_),
            absl::StrCat("--config=", (directory_.path() / "isocenterd.textproto").string())});
    ASSERT_EQ(daemon_->grpc_port(), port_) << "isocenterd did not start";
  }
  client::JobClient Jobs() const { return client::JobClient(ChannelTo(port_)); }

  /// A completed scan under a protocol.
  std::string Scan(const std::string& protocol) {
    v1::AcquisitionHeader header = ScanHeader("");
    header.set_protocol(protocol);
    const auto id = StreamScan(ChannelTo(port_), header);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  v1::Job Refine(const std::string& id, double deadline_seconds = 0) {
    v1::RefineJobRequest request;
    request.set_job_id(id);
    request.set_protocol("endless");
    request.set_deadline_seconds(deadline_seconds);
    const auto job = Jobs().Refine(request);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.value_or(v1::Job());
  }
  /// Waits until `wanted` holds; the job as it then is.
  v1::Job Await(const std::string& id, const std::function<bool(const v1::Job&)>& wanted) {
    const auto job = Jobs().Watch(id, [&](const v1::Job& now) { return !wanted(now); });
    EXPECT_TRUE(job.ok()) << job.status();
    return job.value_or(v1::Job());
  }
  v1::Job AwaitEnd(const std::string& id) {
    return Await(id, [](const v1::Job&) { return false; });
  }
  static bool IsRefining(const v1::Job& job) {
    return job.state() == v1::JOB_STATE_REFINING && job.progress().refined_fraction() > 0;
  }

  /// Scans under a protocol that refines, and kills the server on the way.
  void KillAtAnyMoment(const std::string& protocol) {
    std::vector<float> undisturbed, first;
    const int rounds = Rounds(4, 60);
    for (int round = 0; round <= rounds && !HasFailure(); ++round) {
      const std::string id = Scan(protocol);
      const std::string refined = id + "-ref";
      if (round > 0) {
        const int moment = round % 4;
        const auto before = Await(refined, [&](const v1::Job& job) {
          return moment == 0   ? true
                 : moment == 1 ? IsRefining(job)
                 : moment == 2 ? job.progress().refined_fraction() > 0.4
                               : job.state() >= v1::JOB_STATE_EXPORTING;
        });
        absl::SleepFor(absl::Microseconds(chance_.Integer(0, 20'000)));
        daemon_->Signal(SIGKILL);
        ASSERT_EQ(daemon_->Wait(), -SIGKILL);
        StartServer();
      }
      const v1::Job job = AwaitEnd(refined);
      ASSERT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
      EXPECT_EQ(job.refines_job_id(), id);
      const auto volume = VolumeOf(ChannelTo(port_), refined);
      ASSERT_TRUE(volume.ok()) << volume.status();
      if (round == 0) undisturbed = *volume;
      EXPECT_TRUE(SameBits(*volume, undisturbed)) << "another volume after the restart";
      const auto source = VolumeOf(ChannelTo(port_), id);
      ASSERT_TRUE(source.ok()) << source.status();
      if (round == 0) first = *source;
      EXPECT_TRUE(SameBits(*source, first));
      EXPECT_FALSE(SameBits(*source, *volume));
    }
    const auto all = Jobs().List({}, 1000);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(static_cast<int>(all->size()), 2 * (rounds + 1))
        << "not one refinement for each scan";
  }

  TemporaryDirectory directory_;
  const int port_ = PortForRestarts();
  std::unique_ptr<Daemon> daemon_;
  Chance chance_;
};

TEST_F(RefineTest, KilledAtAnyMomentItIsTheSameAndOne) { KillAtAnyMoment("brief"); }

TEST_F(RefineTest, KilledInASecondPassItIsTheSameAndOne) { KillAtAnyMoment("metal"); }

TEST_F(RefineTest, ALiveScanGoesFirst) {
  const auto seconds = [this](const std::string& id) {
    const auto job = Jobs().Get(id);
    return job.ok() ? job->result().seconds_after_last_frame() : 1e9;
  };
  std::vector<double> alone, beside;
  const int scans = Rounds(3, 20);
  std::string id;
  for (int i = 0; i < scans; ++i) alone.push_back(seconds(id = Scan("fdk")));
  const v1::Job refining = Refine(id);
  Await(refining.job_id(), IsRefining);
  for (int i = 0; i < scans; ++i) {
    const std::string live = Scan("fdk");
    beside.push_back(seconds(live));
    const auto volume = VolumeOf(ChannelTo(port_), live);
    ASSERT_TRUE(volume.ok()) << volume.status();
    EXPECT_TRUE(SameBits(*volume, UndisturbedVolume()));
  }
  EXPECT_EQ(Jobs().Get(refining.job_id())->state(), v1::JOB_STATE_REFINING);
  std::ranges::sort(alone);
  std::ranges::sort(beside);
  std::printf(
      "volume after the last frame of a live scan, ms: alone %.0f (worst %.0f), beside a "
      "refinement %.0f (worst %.0f)\n",
      1e3 * alone[alone.size() / 2], 1e3 * alone.back(), 1e3 * beside[beside.size() / 2],
      1e3 * beside.back());
}

TEST_F(RefineTest, CancelAndDeadline) {
  const std::string id = Scan("fdk");
  std::vector<double> took;
  absl::Duration slowest_start;
  for (int round = 0; round < Rounds(3, 30); ++round) {
    const absl::Time asked = absl::Now();
    const v1::Job refining = Refine(id);
    Await(refining.job_id(), IsRefining);
    slowest_start = std::max(slowest_start, absl::Now() - asked);
    absl::SleepFor(absl::Microseconds(chance_.Integer(0, 50'000)));
    const absl::Time begin = absl::Now();
    const auto cancelled = Jobs().Cancel(refining.job_id());
    took.push_back(absl::ToDoubleMilliseconds(absl::Now() - begin));
    ASSERT_TRUE(cancelled.ok()) << cancelled.status();
    EXPECT_EQ(cancelled->state(), v1::JOB_STATE_CANCELLED);
  }
  std::ranges::sort(took);
  std::printf("cancelled within ms: least %.1f, median %.1f, worst %.1f\n", took.front(),
              took[took.size() / 2], took.back());
  if (!ISOCENTER_SANITIZED) {
    // The least is what the service needs. Beside other tests, three rounds are too few for one of
    // them to be undisturbed; there it shows whether the end of an iteration, of which there are a
    // thousand, is waited for.
    EXPECT_LT(took.front(), IsLongCampaign() ? kPromisedMs : 20 * kPromisedMs);
  }

  // Long enough for its beginning also on a busy machine, and too short for all of it: sixteen
  // cores are done in three seconds.
  const absl::Duration deadline = absl::Milliseconds(500) + 5 * slowest_start;
  const v1::Job late = AwaitEnd(Refine(id, absl::ToDoubleSeconds(deadline)).job_id());
  EXPECT_EQ(late.state(), v1::JOB_STATE_COMPLETED) << late.error_message();
  // Beside those of its frames.
  EXPECT_THAT(late.result().warning(),
              Contains(HasSubstr("of 1000 iterations: the deadline has passed")).Times(1));
  EXPECT_EQ(late.iteration_size(), static_cast<int>(late.progress().iterations_done()));
}

}  // namespace
}  // namespace isocenter::testing
