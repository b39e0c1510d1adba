// The queue's instances on their way to a destination that works, fails, and comes back.
#include "server/dicom/sending/sender.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcuid.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicom/objects/result_store.h"
#include "server/dicom/scp/node.h"
#include "tests/fault/campaign.h"
#include "tests/fault/proxy.h"
#include "tests/server/dicom/fake_pacs.h"
#include "tests/server/dicom/test_jobs.h"
#include "tests/server/fakes/kept_events.h"

namespace isocenter::dicom {
namespace {

using archive::Transfer;
using archive::TransferState;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr uint16_t kOutOfResources = 0xa700, kCannotUnderstand = 0xc001;

class SenderTest : public ::testing::Test {
 protected:
  void SetUp() override { OpenArchive(); }
  void TearDown() override { Stop(); }

  void OpenArchive() {
    Stop();
    store_.reset();
    archive_.reset();
    archive_ = *archive::Archive::Open(directory_.path() / "archive");
    store_ = *DicomResultStore::Create(
        *archive_, {{.destination = {"PACS", commitment_}, .automatic = automatic_}});
  }
  void Stop() {
    sender_.reset();
    node_.reset();
  }
  void StartPacs(PacsBehaviour behaviour = {}, int port = 0) {
    pacs_ = std::make_unique<FakePacs>(std::move(behaviour), port);
    port_ = pacs_->port();
  }
  void StartSender(int associations = 1) {
    SenderOptions options;
    options.node.audit = &sent_;
    options.await_report = await_report_;
    options.destinations.push_back({.route = {.destination = {"PACS", commitment_}},
                                    .peer = {"PACS", "127.0.0.1", port_},
                                    .max_associations = associations,
                                    .first_retry = absl::Milliseconds(20),
                                    .longest_retry = absl::Milliseconds(100),
                                    .commitment_timeout = commitment_timeout_});
    auto sender = Sender::Start(std::move(options), *archive_, nullptr);
    ASSERT_TRUE(sender.ok()) << sender.status();
    sender_ = *std::move(sender);
  }
  /// A job's stored result; the UIDs of its instances in order.
  std::vector<std::string> Store(const std::string& id, int slices,
                                 const jobs::DicomForms& forms = {}) {
    jobs::Job job = TestJob(id, 12, 10, slices);
    job.dicom_forms = forms;
    const auto volume = TestVolume(job.grid);
    const auto stored = store_->Store(job, View(volume, job.grid), nullptr, nullptr);
    EXPECT_TRUE(stored.ok()) << stored.status();
    std::vector<std::string> uids;
    const auto rows = archive_->FindInstances(stored->series_instance_uid);
    EXPECT_TRUE(rows.ok()) << rows.status();
    for (const archive::InstanceRow& row : *rows) {
      uids.push_back(row.instance.sop_instance_uid);
    }
    return uids;
  }
  Transfer TransferOf(const std::string& job_id) {
    const auto found = archive_->transfers().List({.job_id = job_id}, 1);
    EXPECT_TRUE(found.ok()) << found.status();
    return found->empty() ? Transfer{} : found->front();
  }
  bool Eventually(const std::string& job_id, const std::function<bool(const Transfer&)>& wanted) {
    const absl::Time deadline = absl::Now() + absl::Seconds(120);
    while (!wanted(TransferOf(job_id))) {
      if (absl::Now() > deadline) {
        const Transfer now = TransferOf(job_id);
        ADD_FAILURE() << job_id << " is " << Name(now.state) << ": " << now.reason;
        return false;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }
  /// The destination may have been heard before it has heard the answer.
  std::vector<uint16_t> AwaitedReportAnswers() {
    const absl::Time deadline = absl::Now() + absl::Seconds(120);
    while (pacs_->report_answers().empty() && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    return pacs_->report_answers();
  }
  bool EventuallyDone(const std::string& job_id) {
    return Eventually(job_id, [](const Transfer& transfer) { return transfer.done; });
  }

  TemporaryDirectory directory_;
  bool commitment_ = false, automatic_ = true;
  absl::Duration commitment_timeout_ = absl::Hours(1);
  absl::Duration await_report_ = absl::Seconds(30);  // on the association of the request
  int port_ = 0;
  std::unique_ptr<FakePacs> pacs_;
  std::unique_ptr<archive::Archive> archive_;
  std::unique_ptr<jobs::ResultStore> store_;
  std::unique_ptr<Node> node_;
  isocenter::testing::KeptEvents sent_;
  std::unique_ptr<Sender> sender_;
};

class CommittingSenderTest : public SenderTest {
 protected:
  CommittingSenderTest() { commitment_ = true; }
};

TEST_F(SenderTest, WhatIsSentIsRecordedForEachJobAndDestination) {
  StartPacs();
  StartSender();
  const size_t slices = Store("a", 40).size();
  ASSERT_TRUE(EventuallyDone("a"));
  Stop();
  int64_t instances = 0;
  for (const audit::Event& event : sent_.events()) {  // one for each association
    EXPECT_EQ(event.action, audit::Action::kTransmit);
    EXPECT_EQ(event.outcome, audit::Outcome::kSuccess);
    EXPECT_EQ(event.destination, "PACS");
    EXPECT_THAT(event.job_ids, ElementsAre("a"));
    instances += event.instances;
  }
  EXPECT_GE(instances, static_cast<int64_t>(slices));  // and the other form
  EXPECT_LE(sent_.events().size(), 3u);
}

TEST_F(SenderTest, SendsEverythingOnceAndInOrderOnOneAssociation) {
  StartPacs();
  const std::vector<std::string> before = Store("before", 40);
  StartSender();
  ASSERT_TRUE(EventuallyDone("before"));
  EXPECT_EQ(pacs_->order(), before);
  EXPECT_THAT(pacs_->receptions(), Each(Pair(::testing::_, 1)));
  EXPECT_EQ(pacs_->associations(), 1);
  // What is stored while it waits goes at once.
  Store("after", 3);
  ASSERT_TRUE(EventuallyDone("after"));
  EXPECT_THAT(pacs_->instances(), SizeIs(43));
}

TEST_F(SenderTest, AResultThatIsStoredAgainIsNotSentAgain) {
  StartPacs();
  StartSender();
  Store("job", 5);
  ASSERT_TRUE(EventuallyDone("job"));
  Store("job", 5);
  Store("next", 1);
  ASSERT_TRUE(EventuallyDone("next"));
  EXPECT_THAT(pacs_->receptions(), AllOf(SizeIs(6), Each(Pair(::testing::_, 1))));
}

TEST_F(SenderTest, GoesOnWhenTheDestinationComesBack) {
  StartPacs();
  pacs_.reset();
  Store("job", 20);
  StartSender();
  ASSERT_TRUE(Eventually("job", [](const Transfer& t) { return !t.reason.empty(); }));
  EXPECT_THAT(TransferOf("job").reason,
              AllOf(HasSubstr("cannot associate with PACS"),
                    HasSubstr("no connection came about: Connection refused")));
  EXPECT_EQ(TransferOf("job").state, TransferState::kQueued);
  StartPacs({}, port_);
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_THAT(pacs_->receptions(), AllOf(SizeIs(20), Each(Pair(::testing::_, 1))));
  EXPECT_EQ(TransferOf("job").reason, "");
}

TEST_F(SenderTest, TriesAgainWhileTheDestinationIsOutOfResources) {
  StartPacs({.status = [](const std::string&, int nth) {
    return nth % 3 == 0 && nth < 10 ? kOutOfResources : uint16_t{0};
  }});
  const std::vector<std::string> uids = Store("job", 10);
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_EQ(pacs_->order(), uids);
  EXPECT_THAT(pacs_->receptions(), Each(Pair(::testing::_, 1)));
}

TEST_F(SenderTest, WhatIsRefusedForGoodFailsUntilAnOperatorRetries) {
  std::atomic<bool> understands = false;
  StartPacs({.status = [&](const std::string&, int nth) {
    return nth == 2 && !understands ? kCannotUnderstand : uint16_t{0};
  }});
  Store("job", 5);
  StartSender();
  ASSERT_TRUE(Eventually("job", [](const Transfer& t) {
    return t.state == TransferState::kFailed && t.counts.contains(TransferState::kSent) &&
           t.counts.at(TransferState::kSent) == 4;
  }));
  EXPECT_THAT(TransferOf("job").reason, AllOf(HasSubstr("cannot understand"), HasSubstr("C001")));
  understands = true;
  EXPECT_EQ(*archive_->transfers().Retry("job", "", absl::Now()), 1);
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_THAT(pacs_->receptions(), AllOf(SizeIs(5), Each(Pair(::testing::_, 1))));
}

TEST_F(SenderTest, ADestinationWithoutTheClassFailsSayingSo) {
  StartPacs({.takes_images = false});
  Store("job", 2);
  StartSender();
  ASSERT_TRUE(
      Eventually("job", [](const Transfer& t) { return t.state == TransferState::kFailed; }));
  EXPECT_THAT(TransferOf("job").reason, HasSubstr("does not accept SOP class"));
}

TEST_F(CommittingSenderTest, ADestinationWithoutOneFormGetsTheOther) {
  constexpr jobs::DicomForms kBoth{.ct_series = true, .xray_3d = true};
  for (const auto& [name, refused, sent, skipped] :
       {std::tuple("without-3d", UID_XRay3DAngiographicImageStorage, 4, 1),
        std::tuple("without-ct", UID_CTImageStorage, 1, 4)}) {
    SCOPED_TRACE(name);
    StartPacs({.refused_classes = {refused}});
    Store(name, 4, kBoth);
    StartSender();
    ASSERT_TRUE(EventuallyDone(name));
    const Transfer transfer = TransferOf(name);
    EXPECT_EQ(transfer.state, TransferState::kCommitted);
    EXPECT_EQ(transfer.counts,
              (std::map<TransferState, int64_t>{{TransferState::kCommitted, sent},
                                                {TransferState::kSkipped, skipped}}));
    EXPECT_THAT(transfer.reason, HasSubstr("PACS does not accept SOP class"));
    EXPECT_THAT(pacs_->instances(), SizeIs(sent));
    EXPECT_TRUE(archive_->transfers().CheckDelivered(name).ok());
    // It may have learned to take it.
    Stop();
    StartPacs();
    StartSender();
    ASSERT_TRUE(archive_->transfers().Enqueue(name, "PACS", absl::Now()).ok());
    ASSERT_TRUE(Eventually(name, [](const Transfer& t) {
      return t.done && !t.counts.contains(TransferState::kSkipped);
    }));
    EXPECT_THAT(pacs_->instances(), SizeIs(skipped));
    Stop();
  }
}

TEST_F(SenderTest, ADestinationThatTakesNeitherFormHasFailed) {
  StartPacs({.takes_images = false});
  Store("both", 3, {.ct_series = true, .xray_3d = true});
  Store("multi-frame", 3, {.ct_series = false, .xray_3d = true});
  StartSender();
  for (const auto& [job, failed] : {std::pair("both", 4), std::pair("multi-frame", 1)}) {
    ASSERT_TRUE(Eventually(job, [failed = failed](const Transfer& t) {
      const auto count = t.counts.find(TransferState::kFailed);
      return count != t.counts.end() && count->second == failed;
    }));
    EXPECT_THAT(TransferOf(job).counts, SizeIs(1));
  }
}

TEST_F(SenderTest, AnAnswerThatTheClassIsNotSupportedIsTheSame) {
  StartPacs({.status = [](const std::string&, int nth) {
    return nth == 3 ? uint16_t{0x0122} : uint16_t{0};
  }});
  Store("job", 3, {.ct_series = true, .xray_3d = true});
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_EQ(TransferOf("job").counts.at(TransferState::kSkipped), 1);
  EXPECT_THAT(TransferOf("job").reason, HasSubstr("SOP class not supported (status 0122)"));
}

TEST_F(SenderTest, OnlyTheConfiguredFormsAreSent) {
  store_ = *DicomResultStore::Create(
      *archive_, {{.destination = {"PACS", false, {UID_XRay3DAngiographicImageStorage}}}});
  StartPacs();
  Store("job", 3, {.ct_series = true, .xray_3d = true});
  Store("slices", 3);
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_THAT(pacs_->instances(), SizeIs(1));
  EXPECT_THAT(*archive_->transfers().List({.job_id = "slices"}, 10), SizeIs(0));
}

TEST_F(SenderTest, OnlyWhatWasNotConfirmedIsSentAgainWhenAnAssociationBreaks) {
  StartPacs({.fate = [](const std::string&, int nth) {
    return nth == 3 ? StoreFate::kKeepAndBreak : nth == 9 ? StoreFate::kBreak : StoreFate::kAnswer;
  }});
  const std::vector<std::string> uids = Store("job", 12);
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_EQ(pacs_->order(), uids);
  const auto receptions = pacs_->receptions();
  ASSERT_THAT(receptions, SizeIs(12));
  for (size_t i = 0; i < uids.size(); ++i) {
    EXPECT_EQ(receptions.at(uids[i]), i == 3 ? 2 : 1) << i;
  }
}

TEST_F(SenderTest, StopsAtOnceAndGoesOnAfterARestart) {
  StartPacs({.status = [](const std::string&, int) {
    absl::SleepFor(absl::Milliseconds(10));
    return uint16_t{0};
  }});
  Store("job", 60);
  for (int restarts = 0; restarts < 4; ++restarts) {
    StartSender();
    absl::SleepFor(absl::Milliseconds(100));
    const absl::Time begin = absl::Now();
    OpenArchive();
    EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  }
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  int again = 0;
  for (const auto& [uid, count] : pacs_->receptions()) again += count - 1;
  EXPECT_THAT(pacs_->receptions(), SizeIs(60));
  EXPECT_LE(again, 4) << "at most the one that was under way at each restart";
}

TEST_F(SenderTest, SeveralAssociationsShareASeries) {
  StartPacs({.status = [](const std::string&, int) {
    absl::SleepFor(absl::Milliseconds(5));
    return uint16_t{0};
  }});
  Store("job", 200);
  StartSender(/*associations=*/4);
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_THAT(pacs_->receptions(), AllOf(SizeIs(200), Each(Pair(::testing::_, 1))));
  EXPECT_THAT(pacs_->most_associations_at_once(), AllOf(::testing::Gt(1), ::testing::Le(4)));
}

TEST_F(SenderTest, OnRequestOnlyMeansNothingByItself) {
  automatic_ = false;
  OpenArchive();
  StartPacs();
  StartSender();
  Store("job", 3);
  EXPECT_THAT(*archive_->transfers().List({}, 10), SizeIs(0));
  ASSERT_TRUE(archive_->transfers().Enqueue("job", "PACS", absl::Now()).ok());
  ASSERT_TRUE(EventuallyDone("job"));
}

TEST_F(CommittingSenderTest, ReportOnTheSameAssociation) {
  StartPacs();
  Store("job", 30);
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_EQ(TransferOf("job").state, TransferState::kCommitted);
  EXPECT_EQ(pacs_->commitment_requests(), 1);
  EXPECT_THAT(AwaitedReportAnswers(), ElementsAre(0));
}

TEST_F(CommittingSenderTest, ReportOnAnAssociationOfTheDestination) {
  NodeOptions options;
  options.port = 0;
  node_ = *Node::Start(options, *archive_, nullptr);
  StartPacs({.report = ReportBy::kNewAssociation, .report_port = node_->port()});
  await_report_ = absl::Seconds(1);  // in vain
  Store("job", 30);
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_THAT(AwaitedReportAnswers(), ElementsAre(0));
  EXPECT_THAT(pacs_->receptions(), AllOf(SizeIs(30), Each(Pair(::testing::_, 1))));
}

TEST_F(CommittingSenderTest, WhatWasLostIsSentAgain) {
  const std::vector<std::string> uids = Store("job", 10);
  StartPacs({.loses = {uids[2], uids[7]}});
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  const auto receptions = pacs_->receptions();
  for (size_t i = 0; i < uids.size(); ++i) {
    EXPECT_EQ(receptions.at(uids[i]), i == 2 || i == 7 ? 2 : 1) << i;
  }
  EXPECT_EQ(pacs_->commitment_requests(), 2);
}

TEST_F(CommittingSenderTest, ConnectionsThatAreCutAtAnyByteLoseNothing) {
  isocenter::testing::Chance chance;
  const std::vector<std::string> uids = Store("job", 60);
  StartPacs();
  // A reception and its answer are some 3 kB; the association's negotiation is less.
  const isocenter::testing::Proxy proxy(pacs_->port(), [&](int) {
    return isocenter::testing::ConnectionFate{.cut_after = chance.Integer(0, 30'000),
                                              .reset = chance.OneIn(2)};
  });
  port_ = proxy.port();
  commitment_timeout_ = absl::Seconds(2);  // a report may be cut off
  await_report_ = absl::Seconds(1);
  StartSender(/*associations=*/2);
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_EQ(TransferOf("job").state, TransferState::kCommitted);
  EXPECT_EQ(pacs_->instances(), std::set<std::string>(uids.begin(), uids.end()));
  int again = 0;
  for (const auto& [uid, count] : pacs_->receptions()) again += count - 1;
  std::printf("%d connections, %d instances received again\n", proxy.connections(), again);
  EXPECT_LE(again, proxy.connections()) << "more than the one that was under way";
  Stop();  // before the proxy ends
}

TEST_F(CommittingSenderTest, WithoutAnAnswerTheJobIsNotDelivered) {
  StartPacs({.offers_commitment = false});
  Store("job", 3);
  StartSender();
  ASSERT_TRUE(Eventually("job", [](const Transfer& t) { return !t.reason.empty(); }));
  EXPECT_EQ(TransferOf("job").state, TransferState::kSent);
  EXPECT_THAT(TransferOf("job").reason, HasSubstr("does not offer storage commitment"));
  EXPECT_EQ(archive_->transfers().CheckDelivered("job").code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace isocenter::dicom
