// What each request leaves in the audit trail: docs/audit.md has the table.
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using audit::Action;
using audit::Outcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WebAuditTest : public WebTest {
 protected:
  /// Those that came since the last call.
  std::vector<audit::Event> News() {
    std::vector<audit::Event> all = audit_.events();
    std::vector<audit::Event> news(all.begin() + static_cast<std::ptrdiff_t>(seen_), all.end());
    seen_ = all.size();
    return news;
  }
  audit::Event Only(Action action, const std::string& actor, Outcome outcome = Outcome::kSuccess) {
    const std::vector<audit::Event> news = News();
    EXPECT_THAT(news, SizeIs(1));
    if (news.empty()) return {};
    EXPECT_EQ(news[0].action, action) << Name(news[0].action);
    EXPECT_EQ(news[0].outcome, outcome) << news[0].detail;
    EXPECT_EQ(news[0].actor.name, actor);
    EXPECT_EQ(news[0].actor.is_known, !actor.empty());
    EXPECT_EQ(news[0].actor.address, "127.0.0.1");
    EXPECT_EQ(news[0].service, "http");
    return news[0];
  }
  HttpAnswer Bearer(const std::string& token, const std::string& method, const std::string& target,
                    const std::string& body = "") {
    HttpClient::Headers headers = {{"Authorization", "Bearer " + token}};
    if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
    return client().Send(method, target, headers, body);
  }

 private:
  size_t seen_ = 0;
};

class OneDestination : public http::Transfers {
 public:
  std::vector<http::TransferDestination> Destinations() override { return {}; }
  absl::StatusOr<http::TransferPage> List(const http::TransferFilter&, int,
                                          const std::string&) override {
    return http::TransferPage{};
  }
  absl::StatusOr<int> Retry(const std::string&, const std::string&) override { return 2; }
  absl::StatusOr<int> TryNow(const std::string& destination) override {
    if (destination != "PACS") return absl::NotFoundError("configured are: PACS");
    return 7;
  }
  absl::StatusOr<int> Send(const std::string&, const std::string& destination, bool) override {
    if (destination != "PACS") return absl::NotFoundError("configured are: PACS");
    return ++sends_;
  }
  absl::Status CheckDelivered(const std::string&) override { return absl::OkStatus(); }
  int sends_ = 0;
};

TEST_F(WebAuditTest, WhatIsSeenIsRecordedWithItsPatient) {
  StartWithTokens();
  const std::string id = Complete();
  for (const std::string& path : {std::string(""), std::string("/preview"), std::string("/trace"),
                                  std::string("/volume"), std::string("/slices/axial/3")}) {
    const HttpAnswer answer = Bearer(kViewerToken, "GET", absl::StrCat("/api/v1/jobs/", id, path));
    if (answer.status != 200) {  // there may be no preview of so small a volume
      EXPECT_EQ(answer.status, 404) << path << answer.body;
      EXPECT_THAT(News(), IsEmpty());
      continue;
    }
    const audit::Event view = Only(Action::kView, "the viewer");
    EXPECT_THAT(view.job_ids, ElementsAre(id));
    EXPECT_THAT(view.patient_ids, ElementsAre("PID-4711"));
  }
  EXPECT_EQ(Bearer(kViewerToken, "GET", "/api/v1/jobs").status, 200);
  EXPECT_THAT(Only(Action::kQuery, "the viewer").query, ElementsAre("jobs"));
  EXPECT_EQ(Bearer(kViewerToken, "GET", "/api/v1/jobs/none/slices/axial/3").status, 404);
  EXPECT_EQ(Bearer(kViewerToken, "GET", "/api/v1/status").status, 200);
  EXPECT_THAT(News(), IsEmpty()) << "nobody's data was seen";
}

TEST_F(WebAuditTest, WhatIsChangedIsRecorded) {
  OneDestination destination;
  transfers_ = &destination;
  StartWithTokens();
  const std::string id = Complete();
  EXPECT_EQ(
      Bearer(kOperatorToken, "POST", "/api/v1/node:drain", R"({"reason":"new disks"})").status,
      200);
  EXPECT_EQ(Only(Action::kDrain, "the operator").detail, "new disks");
  EXPECT_EQ(Bearer(kOperatorToken, "POST", "/api/v1/node:resume").status, 200);
  Only(Action::kUndrain, "the operator");
  EXPECT_EQ(Bearer(kOperatorToken, "POST", "/api/v1/transfers:retry",
                   absl::StrCat(R"({"job_id":")", id, R"(","destination":"PACS"})"))
                .status,
            200);
  const audit::Event retry = Only(Action::kRetry, "the operator");
  EXPECT_THAT(retry.patient_ids, ElementsAre("PID-4711"));
  EXPECT_EQ(retry.destination, "PACS");
  EXPECT_NE(Bearer(kConsoleToken, "POST", absl::StrCat("/api/v1/jobs/", id, ":cancel")).status,
            200);
  EXPECT_THAT(Only(Action::kCancel, "the console", Outcome::kRefused).job_ids, ElementsAre(id));
  EXPECT_EQ(Bearer(kAdministratorToken, "DELETE", "/api/v1/jobs/" + id).status, 204);
  EXPECT_THAT(Only(Action::kDelete, "the administrator").patient_ids, ElementsAre("PID-4711"));
}

TEST_F(WebAuditTest, SigningInAndOutIsRecorded) {
  StartWithTokens();
  ASSERT_TRUE(client().SignIn(kOperatorToken));
  const std::vector<audit::Event> news = News();
  ASSERT_THAT(news, ::testing::Not(IsEmpty()));
  EXPECT_EQ(news.back().action, Action::kSignIn);
  EXPECT_EQ(news.back().outcome, Outcome::kSuccess);
  EXPECT_EQ(news.back().actor.name, "the operator");
  EXPECT_EQ(client().Send("DELETE", "/api/v1/session").status, 204);
  Only(Action::kSignOut, "the operator");
}

TEST_F(WebAuditTest, WhoIsTurnedAwayIsRecorded) {
  StartWithTokens();
  const std::string id = Complete();
  EXPECT_EQ(Bearer("guessed", "GET", "/api/v1/jobs").status, 401);
  EXPECT_THAT(Only(Action::kSignIn, "", Outcome::kRefused).detail, HasSubstr("is not known"));
  EXPECT_EQ(Bearer("guessed", "GET", "/api/v1/session").status, 200);
  Only(Action::kSignIn, "", Outcome::kRefused);
  EXPECT_EQ(client().Get("/api/v1/jobs/" + id + "/slices/axial/3").status, 401);
  EXPECT_THAT(Only(Action::kSignIn, "", Outcome::kRefused).detail, HasSubstr("sign in first"));
  EXPECT_EQ(Bearer(kOperatorToken, "DELETE", "/api/v1/jobs/" + id).status, 403);
  const std::vector<audit::Event> refused = News();
  ASSERT_THAT(refused, SizeIs(2));
  EXPECT_EQ(refused[0].action, Action::kCall);
  EXPECT_EQ(refused[1].action, Action::kDelete);
  for (const audit::Event& event : refused) {
    EXPECT_EQ(event.outcome, Outcome::kRefused);
    EXPECT_EQ(event.actor.name, "the operator");
    EXPECT_THAT(event.detail, HasSubstr("the role is operator; this needs administrator"));
  }
  EXPECT_THAT(refused[1].patient_ids, ElementsAre("PID-4711"));
}

TEST_F(WebAuditTest, ARequestForAnotherNameIsRecorded) {
  Start();
  EXPECT_EQ(client().Send("GET", "/api/v1/jobs", {{"Host", "elsewhere.example"}}).status, 421);
  EXPECT_THAT(Only(Action::kCall, "", Outcome::kRefused).detail, HasSubstr("elsewhere.example"));
}

TEST_F(WebAuditTest, ARequestOfAnotherSiteIsRecorded) {
  StartWithTokens();
  ASSERT_TRUE(client().SignIn(kOperatorToken));
  News();
  EXPECT_EQ(client()
                .Send("POST", "/api/v1/node:resume", {{"Origin", "https://elsewhere.example"}})
                .status,
            403);
  const std::vector<audit::Event> refused = News();
  ASSERT_THAT(refused, SizeIs(2));
  EXPECT_EQ(refused[0].action, Action::kCall);
  EXPECT_EQ(refused[1].action, Action::kUndrain);
  EXPECT_EQ(refused[1].outcome, Outcome::kRefused);
}

}  // namespace
}  // namespace isocenter::testing
