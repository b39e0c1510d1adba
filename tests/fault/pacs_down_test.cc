// A PACS that is away for long and then comes back unsteadily, and a service that is killed twice
// meanwhile: every instance is there exactly once, and committed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/job_client.h"
#include "client/transfer_client.h"
#include "tests/fault/campaign.h"
#include "tests/fault/daemon.h"
#include "tests/fault/small_scan.h"
#include "tests/server/dicom/fake_pacs.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

using dicom::FakePacs;
using dicom::StoreFate;
using ::testing::Each;
using ::testing::Property;
using ::testing::SizeIs;

// An hour with the default back-off of 5 s to 5 min, a hundred times as fast.
constexpr absl::Duration kHour = absl::Seconds(36);
constexpr char kBackoff[] = "first_retry_seconds: 0.05 longest_retry_seconds: 3";
constexpr absl::Duration kQuickHour = absl::Seconds(3);
constexpr int kAssociations = 2, kJobs = 2;
constexpr int kInstances = kScanSize + 1;  // slices and the multi-frame object

class PacsDownTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(config_) << absl::StrCat(
        "dicom_node { peer { ae_title: 'PACS' host: '127.0.0.1' port: ", pacs_port_,
        " } destination { ae_title: 'PACS' storage_commitment: true commitment_seconds: 5 "
        "max_associations: ",
        kAssociations, " ", kBackoff, " } }");
  }
  void StartServer() {
    daemon_ = std::make_unique<Daemon>(
        (directory_.path() / "archive").string(),
        std::vector<std::string>{absl::StrCat("--config=", config_.string())});
    ASSERT_NE(daemon_->grpc_port(), 0) << "isocenterd did not start";
  }
  void KillServer() {
    daemon_->Signal(SIGKILL);
    ASSERT_EQ(daemon_->Wait(), -SIGKILL);
  }
  client::TransferClient Transfers() const {
    return client::TransferClient(ChannelTo(daemon_->grpc_port()));
  }
  bool Await(const std::function<bool()>& wanted, absl::Duration patience = absl::Seconds(200)) {
    const absl::Time give_up = absl::Now() + patience;
    while (!wanted()) {
      if (absl::Now() > give_up) return false;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return true;
  }
  static int64_t Received(const FakePacs& pacs) {
    return static_cast<int64_t>(pacs.instances().size());
  }
  /// What a PACS does while it recovers: a part of its answers is lost, or says "later".
  dicom::PacsBehaviour Unsteady() {
    constexpr int kOneIn = 40;
    enum Fault { kNone, kKeepsAndBreaks, kBreaks, kNoResources };
    auto faults = std::make_shared<std::vector<Fault>>();
    for (int i = 0; i < 10 * kJobs * kInstances; ++i) {
      faults->push_back(chance_.OneIn(kOneIn) ? static_cast<Fault>(chance_.Integer(1, 3)) : kNone);
    }
    const auto at = [faults](int nth) {
      return nth < static_cast<int>(faults->size()) ? (*faults)[nth] : kNone;
    };
    return {.status =
                [at](const std::string&, int nth) {
                  constexpr uint16_t kOutOfResources = 0xa700;
                  return at(nth) == kNoResources ? kOutOfResources : uint16_t{0};
                },
            .fate =
                [at, this](const std::string&, int nth) {
                  if (at(nth) == kKeepsAndBreaks) ++lost_answers_;
                  return at(nth) == kKeepsAndBreaks ? StoreFate::kKeepAndBreak
                         : at(nth) == kBreaks       ? StoreFate::kBreak
                                                    : StoreFate::kAnswer;
                }};
  }

  void Round(int round) {
    const int64_t all = kJobs * kInstances;
    lost_answers_ = 0;
    StartServer();
    std::vector<std::string> jobs;
    for (int i = 0; i < kJobs; ++i) {
      const auto job = StreamScan(ChannelTo(daemon_->grpc_port()),
                                  ScanHeader(absl::StrCat("pacs-", round, "-", i)));
      ASSERT_TRUE(job.ok()) << job.status();
      jobs.push_back(*job);
    }
    // Away for "an hour", in which the service is killed at a moment that chance chooses.
    const absl::Time back = absl::Now() + (IsLongCampaign() ? kHour : kQuickHour);
    absl::SleepFor((back - absl::Now()) * (static_cast<double>(chance_.Integer(5, 95)) / 100));
    ASSERT_NO_FATAL_FAILURE(KillServer());
    ASSERT_NO_FATAL_FAILURE(StartServer());
    absl::SleepFor(back - absl::Now());
    const auto waiting = Transfers().List({}, 100);
    ASSERT_TRUE(waiting.ok()) << waiting.status();
    EXPECT_THAT(*waiting, SizeIs(kJobs));
    EXPECT_THAT(*waiting, Each(Property(&v1::Transfer::queued_count, kInstances)));

    const FakePacs pacs(Unsteady(), pacs_port_);
    const int64_t moment = chance_.Integer(1, all - 1);
    ASSERT_TRUE(Await([&] { return Received(pacs) >= moment; })) << Received(pacs) << " came";
    ASSERT_NO_FATAL_FAILURE(KillServer());
    const int64_t before = Received(pacs);
    ASSERT_NO_FATAL_FAILURE(StartServer());

    const bool done = Await([&] {
      const auto transfers = Transfers().List({}, 100);
      return transfers.ok() && std::ranges::all_of(*transfers, &v1::Transfer::done);
    });
    const auto transfers = Transfers().List({}, 100);
    ASSERT_TRUE(transfers.ok()) << transfers.status();
    for (const v1::Transfer& transfer : *transfers) {
      EXPECT_EQ(transfer.state(), v1::TRANSFER_STATE_COMMITTED) << transfer.ShortDebugString();
      EXPECT_EQ(transfer.committed_count(), static_cast<uint32_t>(kInstances));
    }
    ASSERT_TRUE(done);
    ExpectOnceEach(pacs, all);
    std::printf("round %d: %ld of %ld had come at the second kill, %d answers were lost\n", round,
                static_cast<long>(before), static_cast<long>(all), lost_answers_.load());
    // Nothing keeps the jobs any more.
    const client::JobClient client(ChannelTo(daemon_->grpc_port()));
    for (const std::string& job : jobs) EXPECT_TRUE(client.Delete(job).ok()) << job;
    KillServer();
  }

  void ExpectOnceEach(const FakePacs& pacs, int64_t all) {
    EXPECT_EQ(Received(pacs), all);
    // DICOM cannot tell whether a C-STORE without an answer took effect: only those may be
    // repeated, and they replace what was there.
    int64_t again = 0;
    for (const auto& [uid, count] : pacs.receptions()) again += count - 1;
    EXPECT_LE(again, lost_answers_ + kAssociations) << "more than those without an answer";
  }

  TemporaryDirectory directory_;
  const int pacs_port_ = PortForRestarts();
  const std::filesystem::path config_ = directory_.path() / "config";
  std::unique_ptr<Daemon> daemon_;
  Chance chance_;
  std::atomic<int> lost_answers_ = 0;
};

TEST_F(PacsDownTest, EveryInstanceArrivesOnceAndIsCommitted) {
  const int rounds = Rounds(1, 20);
  int done = 0;
  while (done < rounds && !HasFailure()) Round(done++);
  EXPECT_FALSE(HasFailure()) << "in round " << done;
}

}  // namespace
}  // namespace isocenter::testing
