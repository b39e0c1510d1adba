#include "server/archive/transfer_queue.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/archive/archive.h"
#include "tests/server/archive/temporary_directory.h"

namespace isocenter::archive {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kCt[] = "1.2.840.10008.5.1.4.1.1.2";

class TransferQueueTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    archive_.reset();
    auto archive = Archive::Open(directory_.path() / "archive");
    ASSERT_TRUE(archive.ok()) << archive.status();
    archive_ = *std::move(archive);
    Configure();
  }
  void Configure(bool pacs_commits = true) {
    const absl::Status configured = queue().Configure({{.destination = {"PACS", pacs_commits},
                                                        .first_retry = absl::Seconds(10),
                                                        .longest_retry = absl::Seconds(60)},
                                                       {.destination = {"VNA", false}}},
                                                      now_);
    ASSERT_TRUE(configured.ok()) << configured;
  }
  TransferQueue& queue() { return archive_->transfers(); }

  /// A result of some instances "JOB.0", "JOB.1", ... for these destinations.
  void Store(const std::string& job_id, int instances,
             const std::vector<Destination>& destinations) {
    Result result;
    result.patient = {"P1", "Doe^Jane", "19700101", "F"};
    result.study = {.instance_uid = "1.2.3", .date = "20260102", .time = "030405"};
    result.series = {.instance_uid = absl::StrCat("series-", job_id), .modality = "CT"};
    for (int i = 0; i < instances; ++i) {
      result.instances.push_back({.sop_instance_uid = absl::StrCat(job_id, ".", i),
                                  .sop_class_uid = kCt,
                                  .number = i + 1,
                                  .file_name = absl::StrCat("dicom/", i, ".dcm")});
    }
    result.raw_file_name = "volume.f32";
    result.raw_bytes = 8;
    result.destinations = destinations;
    auto staging = archive_->Stage(job_id, 1000);
    ASSERT_TRUE(staging.ok()) << staging.status();
    fs::create_directory(staging->directory() / "dicom");
    for (const Instance& instance : result.instances) {
      std::ofstream(staging->directory() / instance.file_name) << instance.sop_instance_uid;
    }
    std::ofstream(staging->directory() / "volume.f32") << "12345678";
    const absl::Status stored = archive_->Commit(*std::move(staging), result);
    ASSERT_TRUE(stored.ok()) << stored;
  }
  void StoreForPacs(const std::string& job_id, int instances) {
    Store(job_id, instances, {{"PACS", true}});
  }

  std::vector<Outgoing> Claim(const std::string& destination, int most = 100) {
    auto claimed = queue().Claim(destination, {kCt}, most, now_);
    EXPECT_TRUE(claimed.ok()) << claimed.status();
    return *std::move(claimed);
  }
  static std::vector<std::string> Uids(const std::vector<Outgoing>& claimed) {
    std::vector<std::string> uids;
    for (const Outgoing& outgoing : claimed) {
      uids.push_back(outgoing.instance.instance.sop_instance_uid);
    }
    return uids;
  }
  void SendAll(const std::string& destination) {
    for (const Outgoing& outgoing : Claim(destination)) {
      ASSERT_TRUE(queue().MarkSent(outgoing.key, now_).ok());
    }
  }
  std::optional<CommitmentRequest> Request(const std::string& uid) {
    auto request = queue().BeginCommitment("PACS", uid, now_ + absl::Hours(1), now_);
    EXPECT_TRUE(request.ok()) << request.status();
    return *std::move(request);
  }
  std::map<TransferState, int64_t> Counts(const std::string& job_id,
                                          const std::string& destination) {
    const auto listed = queue().List({.job_id = job_id, .destination = destination}, 10);
    EXPECT_TRUE(listed.ok()) << listed.status();
    return listed->empty() ? std::map<TransferState, int64_t>{} : listed->front().counts;
  }
  Transfer Only(const TransferFilter& filter = {}) {
    const auto listed = queue().List(filter, 10);
    EXPECT_TRUE(listed.ok()) << listed.status();
    EXPECT_THAT(*listed, SizeIs(1));
    return listed->empty() ? Transfer{} : listed->front();
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Archive> archive_;
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
};

TEST_F(TransferQueueTest, APauseIsToldOfAndEndedByAnOperator) {
  StoreForPacs("job", 3);
  EXPECT_EQ(queue().PauseOf("PACS").until, absl::InfinitePast());
  queue().SetPause("PACS", {"connection refused", 4, now_ + absl::Seconds(60)});
  QueueLength length = (*queue().Lengths())["PACS"];
  EXPECT_EQ(length.reason, "connection refused");
  EXPECT_EQ(length.attempts, 4);
  EXPECT_EQ(length.next_try, now_ + absl::Seconds(60));
  EXPECT_EQ((*queue().Lengths())["VNA"].reason, "") << "nothing waits for it";

  int told = 0;
  queue().SetListener([&] { ++told; });
  EXPECT_EQ(*queue().TryNow("PACS", now_), 3);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(queue().PauseOf("PACS").until, absl::InfinitePast());
  length = (*queue().Lengths())["PACS"];
  EXPECT_EQ(length.reason, "connection refused") << "it is not known to be over";
  EXPECT_EQ(length.next_try, std::nullopt);
  SendAll("PACS");
  queue().SetPause("PACS", {});
  EXPECT_EQ((*queue().Lengths())["PACS"].reason, "");
  EXPECT_THAT(queue().TryNow("ELSEWHERE", now_).status().message(), HasSubstr("PACS, VNA"));
  queue().SetListener(nullptr);
}

TEST_F(TransferQueueTest, AResultIsInItsQueuesAsSoonAsItIsVisible) {
  int told = 0;
  queue().SetListener([&] { ++told; });
  Store("job", 3, {{"PACS", true}, {"VNA", false}});
  EXPECT_EQ(told, 1);
  EXPECT_THAT(Counts("job", "PACS"), ElementsAre(Pair(TransferState::kQueued, 3)));
  EXPECT_THAT(Counts("job", "VNA"), ElementsAre(Pair(TransferState::kQueued, 3)));
  Store("local", 3, {});
  EXPECT_EQ(told, 1);
  EXPECT_THAT(Counts("local", "PACS"), IsEmpty());
}

TEST_F(TransferQueueTest, ClaimsInTheOrderOfEnqueueing) {
  StoreForPacs("b", 2);
  StoreForPacs("a", 2);
  EXPECT_THAT(Uids(Claim("PACS", 3)), ElementsAre("b.0", "b.1", "a.0"));
  EXPECT_THAT(Uids(Claim("PACS", 3)), ElementsAre("a.1"));
  EXPECT_THAT(Claim("PACS"), IsEmpty());
  EXPECT_THAT(*queue().DueClasses("PACS", now_), IsEmpty());
}

TEST_F(TransferQueueTest, AClaimNamesTheFile) {
  StoreForPacs("job", 1);
  const std::vector<Outgoing> claimed = Claim("PACS");
  ASSERT_THAT(claimed, SizeIs(1));
  std::string content;
  std::ifstream(claimed[0].instance.file) >> content;
  EXPECT_EQ(content, "job.0");
  EXPECT_EQ(claimed[0].job_id, "job");
}

TEST_F(TransferQueueTest, OnlyWhatIsNotKnownToBeSentIsSentAgainAfterARestart) {
  StoreForPacs("job", 3);
  const std::vector<Outgoing> claimed = Claim("PACS", 2);
  ASSERT_TRUE(queue().MarkSent(claimed[0].key, now_).ok());
  Reopen();
  EXPECT_THAT(Uids(Claim("PACS")), ElementsAre("job.1", "job.2"));
}

TEST_F(TransferQueueTest, StoringTheSameResultAgainSendsNothingTwice) {
  StoreForPacs("job", 3);
  ASSERT_TRUE(queue().MarkSent(Claim("PACS", 1)[0].key, now_).ok());
  StoreForPacs("job", 3);
  EXPECT_THAT(Uids(Claim("PACS")), ElementsAre("job.1", "job.2"));
  // What is not part of it any more is not sent.
  StoreForPacs("job", 1);
  EXPECT_THAT(Counts("job", "PACS"), ElementsAre(Pair(TransferState::kSent, 1)));
}

TEST_F(TransferQueueTest, WhatIsPutBackIsNextAgain) {
  StoreForPacs("job", 2);
  const std::vector<Outgoing> claimed = Claim("PACS");
  ASSERT_TRUE(queue().Unclaim(claimed[0].key, "broken", true, now_).ok());
  ASSERT_TRUE(queue().Unclaim(claimed[1].key, "broken", false, now_).ok());
  EXPECT_EQ(Only().reason, "broken");
  EXPECT_EQ(Only().attempts, 1);
  EXPECT_THAT(Uids(Claim("PACS")), ElementsAre("job.0", "job.1"));
}

TEST_F(TransferQueueTest, FailedInstancesWaitForAnOperator) {
  StoreForPacs("job", 2);
  const std::vector<Outgoing> claimed = Claim("PACS");
  ASSERT_TRUE(queue().MarkFailed(claimed[0].key, "not understood", now_).ok());
  ASSERT_TRUE(queue().MarkSent(claimed[1].key, now_).ok());
  EXPECT_EQ(Only().state, TransferState::kFailed);
  EXPECT_EQ(Only().reason, "not understood");
  Reopen();
  EXPECT_THAT(Claim("PACS"), IsEmpty());
  EXPECT_EQ(*queue().Retry("other", "", now_), 0);
  EXPECT_EQ(*queue().Retry("", "VNA", now_), 0);
  EXPECT_EQ(*queue().Retry("job", "PACS", now_), 1);
  EXPECT_THAT(Uids(Claim("PACS")), ElementsAre("job.0"));
}

TEST_F(TransferQueueTest, ARetryEndsTheWaitForTheNextAttempt) {
  StoreForPacs("job", 2);
  EXPECT_EQ(Only().next_try, std::nullopt) << "it is the first attempt's turn";
  const absl::Time later = now_ + absl::Minutes(5);
  queue().SetPause("PACS", {.reason = "rejected", .attempts = 3, .until = later});
  EXPECT_EQ(Only().next_try, later);
  EXPECT_EQ(*queue().Retry("other", "", now_), 0);
  EXPECT_EQ(Only().next_try, later) << "nothing of another job waits";
  EXPECT_EQ(*queue().Retry("", "PACS", now_), 2);
  EXPECT_EQ(Only().next_try, std::nullopt);
  EXPECT_EQ(queue().PauseOf("PACS").until, absl::InfinitePast());
}

TEST_F(TransferQueueTest, EnqueuesOnRequest) {
  Store("job", 2, {});
  EXPECT_TRUE(queue().Enqueue("job", "VNA", now_).ok());
  SendAll("VNA");
  // Nothing that has been sent is sent again.
  EXPECT_TRUE(queue().Enqueue("job", "VNA", now_).ok());
  EXPECT_THAT(Counts("job", "VNA"), ElementsAre(Pair(TransferState::kSent, 2)));

  const absl::Status no_destination = queue().Enqueue("job", "NOBODY", now_);
  EXPECT_EQ(no_destination.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_destination.message()),
              AllOf(HasSubstr("NOBODY"), HasSubstr("PACS, VNA")));
  EXPECT_EQ(queue().Enqueue("none", "VNA", now_).code(), absl::StatusCode::kNotFound);
}

TEST_F(TransferQueueTest, SendsAgainWhatWasLost) {
  StoreForPacs("job", 2);
  SendAll("PACS");
  ASSERT_TRUE(Request("1").has_value());
  EXPECT_EQ(*queue().Send("job", "PACS", /*again=*/false, now_), 0);
  EXPECT_EQ(*queue().Send("job", "PACS", /*again=*/true, now_), 2);
  EXPECT_THAT(Counts("job", "PACS"), ElementsAre(Pair(TransferState::kQueued, 2)));
  // What is on its way already stays as it is.
  EXPECT_EQ(*queue().Send("job", "PACS", /*again=*/true, now_), 0);
  SendAll("PACS");
  // A late report is of the first sending.
  ASSERT_TRUE(queue().Apply({.transaction_uid = "1", .committed = {"job.0", "job.1"}}, now_).ok());
  EXPECT_THAT(Counts("job", "PACS"), ElementsAre(Pair(TransferState::kSent, 2)));
  EXPECT_TRUE(Request("2").has_value());
  EXPECT_EQ(queue().Send("job", "NOBODY", true, now_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TransferQueueTest, RetryRefusesADestinationThatIsNotConfigured) {
  StoreForPacs("job", 1);
  const absl::Status refused = queue().Retry("", "PASC", now_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("destination is 'PASC'; legal is one of those configured: PACS"),
                    HasSubstr("did you mean PACS?")));
}

TEST_F(TransferQueueTest, CommitmentIsAskedForOnceAllIsSent) {
  StoreForPacs("job", 2);
  const std::vector<Outgoing> claimed = Claim("PACS");
  ASSERT_TRUE(queue().MarkSent(claimed[0].key, now_).ok());
  EXPECT_FALSE(Request("1").has_value());
  ASSERT_TRUE(queue().MarkSent(claimed[1].key, now_).ok());
  const auto request = Request("1");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->job_id, "job");
  ASSERT_THAT(request->items, SizeIs(2));
  EXPECT_EQ(request->items[1].sop_instance_uid, "job.1");
  EXPECT_EQ(request->items[1].sop_class_uid, kCt);

  // Once, unless no report comes in time.
  EXPECT_FALSE(Request("2").has_value());
  EXPECT_EQ(*queue().NextDue("PACS", now_), now_ + absl::Hours(1));
  now_ += absl::Hours(1);
  EXPECT_TRUE(Request("3").has_value());
  EXPECT_EQ(*queue().Apply({.transaction_uid = "1", .committed = {"job.0", "job.1"}}, now_),
            "PACS");
  EXPECT_TRUE(Only().done);
  EXPECT_EQ(Only().state, TransferState::kCommitted);
  Reopen();
  EXPECT_TRUE(Only().done);
}

TEST_F(TransferQueueTest, ARestartAsksAgainAndTakesReportsOfEarlierRequests) {
  StoreForPacs("job", 1);
  SendAll("PACS");
  ASSERT_TRUE(Request("1").has_value());
  Reopen();
  EXPECT_TRUE(Request("2").has_value());
  EXPECT_TRUE(queue().Apply({.transaction_uid = "1", .committed = {"job.0"}}, now_).ok());
  EXPECT_TRUE(Only().done);
}

TEST_F(TransferQueueTest, WhatIsNotCommittedIsSentAgainWithGrowingDelays) {
  StoreForPacs("job", 2);
  SendAll("PACS");
  absl::Duration expected = absl::Seconds(10);
  for (int round = 0; round < 5; ++round) {
    const std::string uid = absl::StrCat("t", round);
    ASSERT_TRUE(Request(uid).has_value()) << round;
    const CommitmentReport report = {
        .transaction_uid = uid,
        .committed = {"job.0"},
        .failed = {{.sop_instance_uid = "job.1", .reason = "no such instance"}}};
    ASSERT_TRUE(queue().Apply(report, now_).ok());
    // A destination that has missed our answer reports again; that changes nothing.
    ASSERT_TRUE(queue().Apply(report, now_).ok());
    EXPECT_EQ(Only().reason, "no such instance");
    EXPECT_THAT(Claim("PACS"), IsEmpty());
    EXPECT_EQ(*queue().NextDue("PACS", now_), now_ + expected);
    now_ += expected;
    expected = std::min(2 * expected, absl::Seconds(60));
    EXPECT_THAT(Uids(Claim("PACS")), ElementsAre("job.1"));
    ASSERT_TRUE(queue().MarkSent(Only().first_key + 1, now_).ok());
  }
}

TEST_F(TransferQueueTest, SomeFailuresOfCommitmentAreForGood) {
  StoreForPacs("job", 1);
  SendAll("PACS");
  ASSERT_TRUE(Request("1").has_value());
  ASSERT_TRUE(
      queue()
          .Apply({.transaction_uid = "1", .failed = {{"job.0", "not supported", true}}}, now_)
          .ok());
  EXPECT_EQ(Only().state, TransferState::kFailed);
}

TEST_F(TransferQueueTest, AReportOfNoRequestIsNotFound) {
  StoreForPacs("job", 1);
  SendAll("PACS");
  EXPECT_TRUE(absl::IsNotFound(
      queue().Apply({.transaction_uid = "1.2", .committed = {"job.0"}}, now_).status()));
  EXPECT_EQ(Only().state, TransferState::kSent);
}

TEST_F(TransferQueueTest, ARequestThatCouldNotBeMadeIsPostponed) {
  StoreForPacs("job", 1);
  SendAll("PACS");
  const auto request = Request("1");
  ASSERT_TRUE(request.has_value());
  ASSERT_TRUE(
      queue()
          .PostponeCommitment(*request, "PACS", "not offered", now_ + absl::Seconds(60), now_)
          .ok());
  EXPECT_EQ(Only().reason, "not offered");
  const QueueLength length = (*queue().Lengths())["PACS"];
  EXPECT_EQ(length.reason, "not offered");
  EXPECT_EQ(length.next_try, now_ + absl::Seconds(60));
  EXPECT_EQ(length.attempts, 0) << "all that could be sent has been";
  EXPECT_FALSE(Request("2").has_value());
  now_ += absl::Seconds(60);
  EXPECT_TRUE(Request("3").has_value());
}

TEST_F(TransferQueueTest, AJobIsDeliveredOnceEveryDestinationHasConfirmedWhatItMust) {
  Store("job", 2, {{"PACS", true}, {"VNA", false}});
  SendAll("VNA");
  SendAll("PACS");
  const absl::Status waiting = queue().CheckDelivered("job");
  EXPECT_EQ(waiting.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(waiting.message()),
              AllOf(HasSubstr("PACS has not confirmed to have committed to 2 of 2"),
                    Not(HasSubstr("VNA"))));
  ASSERT_TRUE(Request("1").has_value());
  ASSERT_TRUE(queue().Apply({.transaction_uid = "1", .committed = {"job.0", "job.1"}}, now_).ok());
  EXPECT_TRUE(queue().CheckDelivered("job").ok());
  EXPECT_TRUE(queue().CheckDelivered("unknown").ok());
}

TEST_F(TransferQueueTest, WhatADestinationHasToConfirmFollowsTheConfiguration) {
  StoreForPacs("job", 1);
  SendAll("PACS");
  EXPECT_FALSE(queue().CheckDelivered("job").ok());
  Configure(/*pacs_commits=*/false);
  EXPECT_TRUE(queue().CheckDelivered("job").ok());
}

TEST_F(TransferQueueTest, DestinationsThatAreGoneFail) {
  Store("job", 1, {{"OLD", false}});
  Reopen();
  EXPECT_EQ(Only().state, TransferState::kFailed);
  EXPECT_THAT(Only().reason, HasSubstr("no longer configured"));
  EXPECT_EQ(*queue().Retry("", "", now_), 0);
}

TEST_F(TransferQueueTest, ADeletedJobIsForgotten) {
  StoreForPacs("job", 2);
  SendAll("PACS");
  ASSERT_TRUE(Request("1").has_value());
  ASSERT_TRUE(archive_->Delete("job").ok());
  EXPECT_THAT(*queue().List({}, 10), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(queue().Apply({.transaction_uid = "1"}, now_).status()));
}

TEST_F(TransferQueueTest, AResultThatLacksFilesFails) {
  StoreForPacs("job", 2);
  for (const auto& entry : fs::recursive_directory_iterator(directory_.path() / "archive")) {
    if (entry.path().filename() == "0.dcm") fs::remove(entry.path());
  }
  Reopen();
  EXPECT_EQ(Only().state, TransferState::kFailed);
  EXPECT_THAT(Only().reason, HasSubstr("lacks files"));
  // Nobody can wait for what is not there any more.
  EXPECT_TRUE(queue().CheckDelivered("job").ok());
}

TEST_F(TransferQueueTest, ListsByPagesNewestFirst) {
  for (const char* job : {"a", "b", "c"}) Store(job, 1, {{"PACS", true}, {"VNA", false}});
  SendAll("VNA");
  const auto first = *queue().List({}, 4);
  ASSERT_THAT(first, SizeIs(4));
  EXPECT_EQ(first[0].job_id + first[0].destination, "cVNA");
  EXPECT_EQ(first[3].job_id + first[3].destination, "bPACS");
  EXPECT_THAT(*queue().List({.before_key = first[3].first_key}, 4), SizeIs(2));
  EXPECT_THAT(*queue().List({.states = {TransferState::kSent}}, 10), SizeIs(3));
  EXPECT_THAT(*queue().List({.states = {TransferState::kCommitted}}, 10), IsEmpty());
  EXPECT_TRUE(queue().List({.destination = "VNA"}, 1)->front().done);
}

TEST_F(TransferQueueTest, LengthsNameEveryConfiguredDestination) {
  EXPECT_THAT(*queue().Lengths(), SizeIs(2));
  StoreForPacs("job", 3);
  SendAll("PACS");
  const auto lengths = *queue().Lengths();
  EXPECT_THAT(lengths.at("PACS").counts, UnorderedElementsAre(Pair(TransferState::kSent, 3)));
  EXPECT_TRUE(lengths.at("PACS").oldest.has_value());
  EXPECT_FALSE(lengths.at("VNA").oldest.has_value());
}

/// Transactions in a write-ahead log that has not begun anew: the last frame of each has the size
/// of the database in its header (https://www.sqlite.org/fileformat.html#walformat).
int TransactionsOf(const fs::path& log) {
  std::ifstream file(log, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto number = [&bytes](size_t at) {
    uint32_t value = 0;
    for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  };
  if (bytes.size() < 32) return 0;
  const size_t frame = 24 + number(8);
  int count = 0;
  for (size_t at = 32; at + frame <= bytes.size(); at += frame) count += number(at + 4) != 0;
  return count;
}

TEST_F(TransferQueueTest, ManyJobsAreQueuedByOneTransaction) {
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back(absl::StrCat("job", i));
    Store(ids.back(), 2, {});
  }
  ids.insert(ids.begin() + 3, "unknown");
  const fs::path log = directory_.path() / "archive" / "index.sqlite-wal";
  const int before = TransactionsOf(log);
  ASSERT_GT(before, 0) << log;
  int heard = 0;
  queue().SetListener([&heard] { ++heard; });
  const auto outcomes = queue().SendAll(ids, "PACS", /*again=*/false, now_);
  queue().SetListener(nullptr);
  EXPECT_EQ(TransactionsOf(log), before + 1);
  EXPECT_EQ(heard, 1);
  ASSERT_THAT(outcomes, SizeIs(21));
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (i == 3) {
      EXPECT_EQ(outcomes[i].status().code(), absl::StatusCode::kNotFound);
      continue;
    }
    ASSERT_TRUE(outcomes[i].ok()) << outcomes[i].status();
    EXPECT_EQ(*outcomes[i], 2) << ids[i];
    EXPECT_THAT(Counts(ids[i], "PACS"), ElementsAre(Pair(TransferState::kQueued, 2)));
  }
  for (const auto& refused : queue().SendAll({"job0", "job1"}, "ELSEWHERE", false, now_)) {
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kNotFound);
  }
}

}  // namespace
}  // namespace isocenter::archive
