// The queue's instances on their way to a destination that speaks DICOMweb.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcuid.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicom/objects/result_store.h"
#include "server/dicom/sending/sender.h"
#include "tests/server/dicom/test_jobs.h"
#include "tests/server/fakes/eventually.h"
#include "tests/server/fakes/kept_events.h"
#include "tests/server/fakes/scripted_web_server.h"

namespace isocenter::dicom {
namespace {

using archive::Transfer;
using archive::TransferState;
using isocenter::testing::ScriptedWebServer;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kJson[] = "application/dicom+json";

/// The failure reason of an instance; 0: it is stored.
using ReasonOf = std::function<int(const std::string& uid)>;

/// As an origin server of PS3.18 answers.
std::string AnswerTo(const std::vector<std::string>& uids, const ReasonOf& reason_of) {
  std::string stored, failed;
  for (const std::string& uid : uids) {
    const int reason = reason_of ? reason_of(uid) : 0;
    std::string& list = reason == 0 ? stored : failed;
    absl::StrAppend(&list, list.empty() ? "" : ",", R"({"00081155":{"vr":"UI","Value":[")", uid,
                    "\"]}");
    if (reason != 0) absl::StrAppend(&list, R"(,"00081197":{"vr":"US","Value":[)", reason, "]}");
    list += "}";
  }
  const char* status = failed.empty() ? "200 OK" : stored.empty() ? "409 Conflict" : "202 Accepted";
  return ScriptedWebServer::Answer(
      status, kJson,
      absl::StrCat(R"({"00081199":{"vr":"SQ","Value":[)", stored,
                   R"(]},"00081198":{"vr":"SQ","Value":[)", failed, "]}}"));
}

class StowSenderTest : public ::testing::Test {
 protected:
  using Behaviour = std::function<std::string(const std::vector<std::string>& uids, int nth)>;

  void SetUp() override { OpenArchive(); }
  void TearDown() override { sender_.reset(); }

  void OpenArchive() {
    sender_.reset();
    store_.reset();
    archive_.reset();
    archive_ = *archive::Archive::Open(directory_.path() / "archive");
    store_ = *DicomResultStore::Create(*archive_, {{.destination = {.ae_title = "CLOUD"}}});
  }
  /// `behaviour`: what the nth request (from 0) is answered; null: that all is stored.
  void StartServer(Behaviour behaviour = nullptr) {
    server_ =
        std::make_unique<ScriptedWebServer>([this, behaviour](const ScriptedWebServer::Seen& seen) {
          const std::vector<std::string> uids = UidsOf(seen);
          int nth = 0;
          {
            absl::MutexLock lock(&mutex_);
            nth = static_cast<int>(requests_.size());
            requests_.push_back(uids);
          }
          return behaviour ? behaviour(uids, nth) : AnswerTo(uids, nullptr);
        });
    url_ = server_->url() + "/studies";
  }
  void StartSender(int requests_at_once = 1) {
    SenderOptions options;
    options.node.audit = &sent_;
    options.destinations.push_back({.route = {.destination = {.ae_title = "CLOUD"}},
                                    .stow = stow::Destination{.url = url_},
                                    .max_associations = requests_at_once,
                                    .first_retry = absl::Milliseconds(20),
                                    .longest_retry = longest_retry_});
    auto sender = Sender::Start(std::move(options), *archive_,
                                [this](const std::string& name, SendEvent event) {
                                  absl::MutexLock lock(&mutex_);
                                  ++events_[absl::StrCat(name, " ", Name(event))];
                                });
    ASSERT_TRUE(sender.ok()) << sender.status();
    sender_ = *std::move(sender);
  }
  /// A job's stored result; the UIDs of its slices in order.
  std::vector<std::string> Store(const std::string& id, int slices,
                                 const jobs::DicomForms& forms = {}) {
    jobs::Job job = TestJob(id, 12, 10, slices);
    job.dicom_forms = forms;
    const auto volume = TestVolume(job.grid);
    const auto stored = store_->Store(job, View(volume, job.grid), nullptr, nullptr);
    EXPECT_TRUE(stored.ok()) << stored.status();
    std::vector<std::string> uids;
    for (const archive::InstanceRow& row : InstancesOf(id)) {
      Remember(row);
      const std::string& uid = row.instance.sop_instance_uid;
      const bool is_volume = row.instance.sop_class_uid == UID_XRay3DAngiographicImageStorage;
      if (is_volume) volume_ = uid;
      if (!is_volume) uids.push_back(uid);
    }
    return uids;
  }
  std::vector<archive::InstanceRow> InstancesOf(const std::string& id) {
    std::vector<archive::InstanceRow> rows;
    const std::vector<archive::SeriesRow> all = *archive_->FindSeries({});
    for (const archive::SeriesRow& series : all) {
      if (series.job_id != id) continue;
      const auto found = *archive_->FindInstances(series.series.instance_uid);
      rows.insert(rows.end(), found.begin(), found.end());
    }
    return rows;
  }
  Transfer TransferOf(const std::string& job_id) {
    const auto found = archive_->transfers().List({.job_id = job_id}, 1);
    EXPECT_TRUE(found.ok()) << found.status();
    return found->empty() ? Transfer{} : found->front();
  }
  bool Eventually(const std::string& job_id, const std::function<bool(const Transfer&)>& wanted) {
    const bool was = isocenter::testing::Eventually([&] { return wanted(TransferOf(job_id)); });
    if (!was) ADD_FAILURE() << job_id << ": " << TransferOf(job_id).reason;
    return was;
  }
  bool EventuallyDone(const std::string& job_id) {
    return Eventually(job_id, [](const Transfer& transfer) { return transfer.done; });
  }
  std::vector<std::vector<std::string>> requests() const {
    absl::MutexLock lock(&mutex_);
    return requests_;
  }
  std::map<std::string, int> events() const {
    absl::MutexLock lock(&mutex_);
    return events_;
  }
  /// How often each instance came.
  std::map<std::string, int> Receptions() const {
    std::map<std::string, int> receptions;
    for (const auto& request : requests()) {
      for (const std::string& uid : request) ++receptions[uid];
    }
    return receptions;
  }

  TemporaryDirectory directory_;
  absl::Duration longest_retry_ = absl::Milliseconds(100);
  std::string url_, volume_;  // of the last result that was stored as a volume, too
  std::unique_ptr<archive::Archive> archive_;
  std::unique_ptr<jobs::ResultStore> store_;
  isocenter::testing::KeptEvents sent_;
  std::unique_ptr<ScriptedWebServer> server_;
  std::unique_ptr<Sender> sender_;

 private:
  void Remember(const archive::InstanceRow& row) {
    std::ifstream in(row.file, std::ios::binary);
    absl::MutexLock lock(&mutex_);
    uid_of_bytes_[std::string(std::istreambuf_iterator<char>(in), {})] =
        row.instance.sop_instance_uid;
  }
  /// What was sent is byte for byte what is stored; its UIDs.
  std::vector<std::string> UidsOf(const ScriptedWebServer::Seen& seen) {
    const absl::string_view body = seen.body;
    const std::string mark(body.substr(0, body.find("\r\n")));
    std::vector<std::string> uids;
    std::vector<absl::string_view> pieces = absl::StrSplit(seen.body, absl::StrCat("\r\n", mark));
    pieces.front().remove_prefix(mark.size());
    EXPECT_EQ(pieces.back(), "--\r\n");
    pieces.pop_back();
    absl::MutexLock lock(&mutex_);
    for (absl::string_view piece : pieces) {
      EXPECT_TRUE(absl::ConsumePrefix(&piece, "\r\nContent-Type: application/dicom\r\n\r\n"));
      const auto known = uid_of_bytes_.find(piece);
      if (known == uid_of_bytes_.end()) {
        ADD_FAILURE() << "a part of " << piece.size() << " bytes that is no stored file";
        continue;
      }
      uids.push_back(known->second);
    }
    return uids;
  }

  mutable absl::Mutex mutex_;
  std::map<std::string, std::string, std::less<>> uid_of_bytes_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::vector<std::string>> requests_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> events_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(StowSenderTest, SendsEverythingOnceInFewRequests) {
  StartServer();
  const std::vector<std::string> uids = Store("job", 100);
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_THAT(Receptions(), AllOf(SizeIs(100), Each(Pair(::testing::_, 1))));
  EXPECT_THAT(requests(), ElementsAre(SizeIs(64), SizeIs(36)));
  EXPECT_EQ(requests()[0], std::vector<std::string>(uids.begin(), uids.begin() + 64));
  EXPECT_EQ(events(), (std::map<std::string, int>{{"CLOUD sent", 100}}));
  EXPECT_EQ(TransferOf("job").state, TransferState::kSent);
  EXPECT_TRUE(archive_->transfers().CheckDelivered("job").ok());
  sender_.reset();
  ASSERT_THAT(sent_.events(), SizeIs(1));
  const audit::Event event = sent_.events().front();
  EXPECT_EQ(event.action, audit::Action::kTransmit);
  EXPECT_EQ(event.outcome, audit::Outcome::kSuccess);
  EXPECT_EQ(event.service, "dicomweb");
  EXPECT_EQ(event.destination, "CLOUD");
  EXPECT_EQ(event.instances, 100);
  EXPECT_THAT(event.job_ids, ElementsAre("job"));
}

TEST_F(StowSenderTest, OneInstanceHasOneState) {
  const std::vector<std::string> uids = Store("job", 6);
  const std::map<std::string, int> reasons = {
      {uids[1], 0xc000}, {uids[2], 0x0111}, {uids[4], 0xa700}};
  std::atomic<bool> has_room = false, understands = false;
  StartServer([&](const std::vector<std::string>& sent, int) {
    return AnswerTo(sent, [&](const std::string& uid) {
      const int reason = reasons.contains(uid) ? reasons.at(uid) : 0;
      const bool is_over = (reason == 0xa700 && has_room) || (reason == 0xc000 && understands);
      return is_over ? 0 : reason;
    });
  });
  StartSender();
  ASSERT_TRUE(Eventually("job", [](const Transfer& t) {
    return t.counts == std::map<TransferState, int64_t>{{TransferState::kQueued, 1},
                                                        {TransferState::kSent, 4},
                                                        {TransferState::kFailed, 1}};
  }));
  EXPECT_THAT(TransferOf("job").reason, HasSubstr("cannot understand (status C000)"));
  has_room = true;
  ASSERT_TRUE(Eventually("job", [](const Transfer& t) {
    return t.counts ==
           std::map<TransferState, int64_t>{{TransferState::kSent, 5}, {TransferState::kFailed, 1}};
  }));
  EXPECT_EQ(Receptions().at(uids[0]), 1);
  EXPECT_EQ(Receptions().at(uids[1]), 1) << "what is refused for good is not tried again";
  EXPECT_GT(Receptions().at(uids[4]), 1);
  understands = true;
  EXPECT_EQ(*archive_->transfers().Retry("job", "", absl::Now()), 1);
  ASSERT_TRUE(EventuallyDone("job"));
}

TEST_F(StowSenderTest, AFormThatIsNotTakenIsSkipped) {
  Store("job", 4, {.ct_series = true, .xray_3d = true});
  ASSERT_NE(volume_, "");
  StartServer([&](const std::vector<std::string>& uids, int) {
    return AnswerTo(uids, [&](const std::string& uid) { return uid == volume_ ? 0x0122 : 0; });
  });
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_EQ(
      TransferOf("job").counts,
      (std::map<TransferState, int64_t>{{TransferState::kSent, 4}, {TransferState::kSkipped, 1}}));
}

TEST_F(StowSenderTest, WaitsWhileItIsNotLetIn) {
  std::atomic<bool> open = false;
  StartServer([&](const std::vector<std::string>& uids, int) {
    return open ? AnswerTo(uids, nullptr)
                : ScriptedWebServer::Answer("401 Unauthorized", "text/plain", "no");
  });
  Store("first", 3);
  Store("second", 100);
  StartSender();
  ASSERT_TRUE(
      Eventually("second", [](const Transfer& t) { return absl::StrContains(t.reason, "401"); }));
  EXPECT_EQ(TransferOf("first").state, TransferState::kQueued);
  EXPECT_TRUE(isocenter::testing::Eventually([&] {
    const auto lengths = archive_->transfers().Lengths();
    return lengths.ok() && absl::StrContains(lengths->at("CLOUD").reason, "401");
  }));
  open = true;
  ASSERT_TRUE(EventuallyDone("first"));
  ASSERT_TRUE(EventuallyDone("second"));
}

TEST_F(StowSenderTest, WaitsAsLongAsItIsAskedToButNotForEver) {
  longest_retry_ = absl::Minutes(10);
  std::atomic<int> seconds = 120;
  StartServer([&](const std::vector<std::string>&, int) {
    return ScriptedWebServer::Answer("503 Busy", "text/plain", "",
                                     absl::StrCat("Retry-After: ", seconds.load(), "\r\n"));
  });
  Store("job", 3);
  StartSender();
  const auto wait = [&](int attempts) {
    archive::Pause pause;
    EXPECT_TRUE(isocenter::testing::Eventually([&] {
      pause = archive_->transfers().PauseOf("CLOUD");
      return pause.attempts == attempts;
    }));
    return pause.until - absl::Now();
  };
  const absl::Duration first = wait(1);
  EXPECT_GT(first, absl::Seconds(60));
  EXPECT_LE(first, absl::Seconds(120));
  seconds = 1'000'000'000;
  ASSERT_EQ(*archive_->transfers().TryNow("CLOUD", absl::Now()), 3);
  EXPECT_LE(wait(2), absl::Minutes(10));
  EXPECT_THAT(requests(), SizeIs(2)) << "an operator does not wait";
}

TEST_F(StowSenderTest, OneBadInstanceDoesNotKeepTheOthersOut) {
  const std::vector<std::string> all = Store("job", 64);
  const std::string& bad = all[37];
  StartServer([&](const std::vector<std::string>& uids, int) {
    if (std::ranges::find(uids, bad) == uids.end()) return AnswerTo(uids, nullptr);
    return ScriptedWebServer::Answer("400 Bad Request", "text/plain", "I do not say which");
  });
  StartSender();
  ASSERT_TRUE(Eventually("job", [](const Transfer& t) {
    return t.counts == std::map<TransferState, int64_t>{{TransferState::kSent, 63},
                                                        {TransferState::kFailed, 1}};
  }));
  EXPECT_THAT(TransferOf("job").reason, HasSubstr("HTTP status 400"));
  EXPECT_LT(requests().size(), 30);
}

TEST_F(StowSenderTest, WhenAllAreRefusedEachComesAFewTimes) {
  StartServer([&](const std::vector<std::string>&, int) {
    return ScriptedWebServer::Answer("415 Unsupported Media Type", "text/plain", "");
  });
  Store("job", 64);
  StartSender();
  ASSERT_TRUE(Eventually("job", [](const Transfer& t) {
    return t.counts == std::map<TransferState, int64_t>{{TransferState::kFailed, 64}};
  }));
  size_t sent = 0;
  for (const auto& request : requests()) sent += request.size();
  EXPECT_LE(sent, 3 * 64);
}

TEST_F(StowSenderTest, RequestsBecomeAsSmallAsTheServerWants) {
  StartServer([&](const std::vector<std::string>& uids, int) {
    return uids.size() <= 10 ? AnswerTo(uids, nullptr)
                             : ScriptedWebServer::Answer("413 Too Large", "text/plain", "");
  });
  Store("job", 128);
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  const auto all = requests();
  const auto too_large = std::ranges::count_if(all, [](const auto& r) { return r.size() > 10; });
  EXPECT_LE(too_large, 3) << "it learns";
}

TEST_F(StowSenderTest, GoesOnWhenTheServerComesBack) {
  url_ = "http://127.0.0.1:1/studies";
  Store("job", 20);
  StartSender();
  ASSERT_TRUE(Eventually("job", [](const Transfer& t) { return !t.reason.empty(); }));
  EXPECT_THAT(TransferOf("job").reason, HasSubstr("no answer"));
  sender_.reset();
  EXPECT_THAT(sent_.events(), IsEmpty()) << "nothing has left";
  StartServer();
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_THAT(Receptions(), AllOf(SizeIs(20), Each(Pair(::testing::_, 1))));
}

TEST_F(StowSenderTest, OnlyTheRequestUnderWayIsSentAgain) {
  StartServer([&](const std::vector<std::string>& uids, int nth) {
    if (nth == 1) return std::string("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"000");
    return nth == 3 ? "" : AnswerTo(uids, nullptr);
  });
  Store("job", 200);
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_THAT(requests(),
              ElementsAre(SizeIs(64), SizeIs(64), SizeIs(64), SizeIs(64), SizeIs(64), SizeIs(8)));
  EXPECT_EQ(requests()[1], requests()[2]);
  EXPECT_EQ(requests()[3], requests()[4]);
}

TEST_F(StowSenderTest, StopsAtOnceAndGoesOnAfterARestart) {
  absl::Notification end;
  std::atomic<bool> slow = true;
  StartServer([&](const std::vector<std::string>& uids, int nth) {
    if (nth == 1 && slow) end.WaitForNotificationWithTimeout(absl::Minutes(1));
    return AnswerTo(uids, nullptr);
  });
  Store("job", 130);
  StartSender();
  ASSERT_TRUE(isocenter::testing::Eventually([&] { return requests().size() == 2; }));
  const absl::Time begin = absl::Now();
  OpenArchive();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  EXPECT_EQ(TransferOf("job").counts.at(TransferState::kSent), 64);
  end.Notify();
  slow = false;
  StartSender();
  ASSERT_TRUE(EventuallyDone("job"));
  EXPECT_THAT(requests(), ElementsAre(SizeIs(64), SizeIs(64), SizeIs(64), SizeIs(2)));
}

TEST_F(StowSenderTest, AnInstanceWhoseFileIsLostFails) {
  StartServer();
  Store("job", 5);
  std::filesystem::remove(InstancesOf("job").at(2).file);
  StartSender();
  ASSERT_TRUE(Eventually("job", [](const Transfer& t) {
    return t.counts ==
           std::map<TransferState, int64_t>{{TransferState::kSent, 4}, {TransferState::kFailed, 1}};
  }));
  EXPECT_THAT(TransferOf("job").reason, HasSubstr("cannot be sent"));
}

}  // namespace
}  // namespace isocenter::dicom
