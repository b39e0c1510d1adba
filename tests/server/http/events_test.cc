// Events, health and draining, as a page and a probe see them.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Event {
  std::string id, name;
  json data;
};

/// A connection to /api/v1/events.
class Follower {
 public:
  Follower(int port, const std::string& last_event_id = "", const std::string& token = "")
      : connection_(port) {
    std::string request = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n";
    if (!last_event_id.empty()) absl::StrAppend(&request, "Last-Event-ID: ", last_event_id, "\r\n");
    if (!token.empty()) absl::StrAppend(&request, "Authorization: Bearer ", token, "\r\n");
    connection_.Send(request + "\r\n");
    while (text_.find("\r\n\r\n") == std::string::npos && connection_.Receive(text_)) {
    }
    const size_t end = text_.find("\r\n\r\n");
    head_ = text_.substr(0, end);
    text_.erase(0, end == std::string::npos ? text_.size() : end + 4);
  }
  const std::string& head() const { return head_; }

  /// The next one; without name: the end.
  Event Next() {
    size_t end = 0;
    while ((end = text_.find("\n\n")) == std::string::npos) {
      if (!connection_.Receive(text_)) return {};
    }
    Event event;
    for (const absl::string_view line : absl::StrSplit(text_.substr(0, end), '\n')) {
      const std::pair<std::string, std::string> field =
          absl::StrSplit(line, absl::MaxSplits(": ", 1));
      if (field.first == "id") event.id = field.second;
      if (field.first == "event") event.name = field.second;
      if (field.first == "data") event.data = json::parse(field.second, nullptr, false);
    }
    text_.erase(0, end + 2);
    return event;
  }
  /// The next one of that name.
  Event Next(const std::string& name) {
    Event event;
    do {
      event = Next();
    } while (!event.name.empty() && event.name != name);
    return event;
  }

 private:
  RawConnection connection_;
  std::string head_, text_;
};

class EventsTest : public WebTest {};

TEST_F(EventsTest, JobsAreToldAsTheyChange) {
  Start();
  Follower follower(client().port());
  EXPECT_THAT(follower.head(), HasSubstr("text/event-stream"));
  const Event hello = follower.Next();
  EXPECT_EQ(hello.name, "hello");
  EXPECT_EQ(hello.data["resumed"], false);
  EXPECT_EQ(hello.data["status"]["ready"], true);
  const std::string id = Complete();
  Event event;
  do {
    event = follower.Next("job");
    ASSERT_EQ(event.data["job_id"], id);
  } while (event.data["state"] != "completed");
  EXPECT_EQ(event.data["progress"]["frames_received"], 40);
  ASSERT_TRUE(service_.table->Delete(id).ok());
  EXPECT_EQ(follower.Next("job_removed").data["job_id"], id);
}

TEST_F(EventsTest, WhoComesBackGetsWhatHeMissed) {
  Start();
  std::string last;
  {
    Follower follower(client().port());
    follower.Next("hello");
    Accept();
    last = follower.Next("job").id;
  }
  const std::string missed = Complete("ROOM-2");
  Follower follower(client().port(), last);
  EXPECT_EQ(follower.Next("hello").data["resumed"], true);
  EXPECT_EQ(follower.Next("job").data["job_id"], missed);
  // Of another run of the server, or nonsense.
  for (const char* unknown : {"00000000-1", "x", "-"}) {
    EXPECT_EQ(Follower(client().port(), unknown).Next("hello").data["resumed"], false) << unknown;
  }
}

TEST_F(EventsTest, StreamsEndWithTheServer) {
  Start();
  Follower follower(client().port());
  follower.Next("hello");
  const absl::Time begin = absl::Now();
  feed_->Stop();
  EXPECT_EQ(follower.Next().name, "");
  server_.reset();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
}

TEST_F(EventsTest, AStreamEndsWhenItsTokenIsTakenBack) {
  StartWithTokens();
  Follower follower(client().port(), "", kViewerToken);
  EXPECT_EQ(follower.Next().name, "hello");
  WriteTokens({{"operator", kOperatorToken}});
  const absl::Time begin = absl::Now();
  while (!follower.Next().name.empty() && absl::Now() - begin < absl::Seconds(20)) {
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(15));
}

class HealthTest : public WebTest {
 protected:
  /// The component of the only reason why the node is not ready; empty: it is.
  std::string WhyNotReady() {
    const HttpAnswer answer = client().Get("/readyz");
    const json reasons = answer.json()["reasons"];
    EXPECT_EQ(answer.status, reasons.empty() ? 200 : 503);
    EXPECT_EQ(answer.json()["ok"], reasons.empty());
    EXPECT_LE(reasons.size(), 1u) << answer.body;
    return reasons.empty() ? "" : reasons[0]["component"].get<std::string>();
  }
};

TEST_F(HealthTest, ReadinessSaysWhatIsMissing) {
  StartWithTokens();  // probes need none
  EXPECT_EQ(client().Get("/livez").status, 200);
  EXPECT_EQ(client().Get("/startupz").status, 200);
  EXPECT_EQ(WhyNotReady(), "");
  spool_.used_bytes = spool_.capacity_bytes;
  EXPECT_EQ(WhyNotReady(), "spool");
  spool_.reclaimable_bytes = spool_.used_bytes;  // makes room when it is wanted
  EXPECT_EQ(WhyNotReady(), "");
  spool_.error = absl::InternalError("the spool's disk is read-only");
  EXPECT_EQ(WhyNotReady(), "spool");
  spool_.error = absl::OkStatus();
  service_.results.SetFreeBytes(kScanBytes - 1);
  EXPECT_EQ(WhyNotReady(), "archive");
  service_.results.SetFreeBytes(int64_t{1} << 40);
  std::vector<std::string> ids;
  for (int i = 0; i < service_.options.max_active_jobs; ++i) ids.push_back(Accept());
  EXPECT_EQ(WhyNotReady(), "admission");
  for (const std::string& id : ids) {
    ASSERT_TRUE(service_.engine->Cancel(id, absl::CancelledError("x")).ok());
  }
  EXPECT_TRUE(Eventually([&] { return WhyNotReady().empty(); }));
  service_.slot().Quarantine("lost");
  EXPECT_EQ(WhyNotReady(), "devices");
  EXPECT_EQ(client().Get("/livez").status, 200);
}

TEST_F(HealthTest, DrainingRefusesWhatIsNewAndLetsTheRestGoOn) {
  StartWithTokens();
  ASSERT_TRUE(client().SignIn(kOperatorToken));
  Follower follower(client().port(), "", kViewerToken);
  follower.Next("hello");
  const std::string before = Accept();
  const HttpAnswer drained = client().Post("/api/v1/node:drain", {{"reason", "new filter"}});
  ASSERT_EQ(drained.status, 200) << drained.body;
  EXPECT_EQ(drained.json()["ready"], false);
  EXPECT_EQ(drained.json()["draining"]["reason"], "new filter");
  EXPECT_EQ(drained.json()["draining"]["by"], "the operator");
  EXPECT_EQ(WhyNotReady(), "admission");
  EXPECT_EQ(follower.Next("status").data["ready"], false);

  EXPECT_EQ(Accept(), "");
  EXPECT_TRUE(absl::IsUnavailable(refusal_));
  EXPECT_THAT(std::string(refusal_.message()), HasSubstr("new filter"));
  const auto console = *Console::Attach(jobs_.at(before));
  ASSERT_TRUE(console->Send(0, 40).ok());
  ASSERT_TRUE(console->Finish().ok());
  EXPECT_TRUE(Eventually(
      [&] { return (*service_.table->Get(before))->state == jobs::JobState::kCompleted; }));

  EXPECT_EQ(client().Post("/api/v1/node:resume").json()["ready"], true);
  EXPECT_EQ(WhyNotReady(), "");
  EXPECT_NE(Accept(), "");
  EXPECT_EQ(client().Post("/api/v1/node:drain", {{"reason", std::string(201, 'x')}}).status, 400);
  EXPECT_EQ(client().Post("/api/v1/node:drain", {{"reason", 7}}).status, 400);
  EXPECT_EQ(client().Post("/api/v1/node:drain", json::array()).status, 400);
}

}  // namespace
}  // namespace isocenter::testing
