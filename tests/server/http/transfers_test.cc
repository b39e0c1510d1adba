// What docs/web-api.md promises of transfers to destinations.
#include "absl/strings/str_cat.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// One transfer that has failed.
class FakeTransfers : public http::Transfers {
 public:
  std::vector<http::TransferDestination> Destinations() override { return {destination_}; }
  absl::StatusOr<http::TransferPage> List(const http::TransferFilter& filter, int,
                                          const std::string&) override {
    filter_ = filter;
    return http::TransferPage{{{.job_id = job_id_,
                                .destination = "PACS",
                                .state = "failed",
                                .sent = 3,
                                .failed = 2,
                                .message = "refused"}},
                              "next"};
  }
  absl::StatusOr<int> Retry(const std::string& job_id, const std::string&) override {
    if (job_id != "a") return absl::NotFoundError("no such job");
    return 2;
  }
  absl::StatusOr<int> TryNow(const std::string& destination) override {
    if (destination != "PACS") return absl::NotFoundError("configured are: PACS");
    return 7;
  }
  absl::StatusOr<int> Send(const std::string&, const std::string& destination,
                           bool again) override {
    if (destination != "PACS") return absl::NotFoundError("configured are: PACS");
    ++sends_;
    return again ? 5 : 0;
  }
  absl::Status CheckDelivered(const std::string&) override { return delivered_; }
  http::TransferFilter filter_;
  std::string job_id_ = "a";  // of what is listed
  absl::Status delivered_;
  http::TransferDestination destination_{.name = "PACS", .host = "pacs", .port = 104, .failed = 2};
  int sends_ = 0;
};

TEST_F(WebTest, WhatHasStillToBeSentIsKeptAndWhoWantedToDeleteItIsRecorded) {
  FakeTransfers transfers;
  transfers_ = &transfers;
  StartWithTokens();
  const std::string id = Complete();
  ASSERT_TRUE(client().SignIn(kAdministratorToken));
  transfers.delivered_ = absl::FailedPreconditionError("PACS has not confirmed");
  const HttpAnswer refused = client().Send("DELETE", "/api/v1/jobs/" + id);
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("PACS has not confirmed"));
  EXPECT_EQ(client().Get("/api/v1/jobs/" + id).status, 200);
  transfers.delivered_ = absl::OkStatus();
  EXPECT_EQ(client().Send("DELETE", "/api/v1/jobs/" + id).status, 204);
  EXPECT_EQ(client().Get("/api/v1/jobs/" + id).status, 404);

  const std::vector<audit::Event> events = audit_.Of(audit::Action::kDelete);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].outcome, audit::Outcome::kRefused);
  EXPECT_EQ(events[1].outcome, audit::Outcome::kSuccess);
  for (const audit::Event& event : events) {
    EXPECT_EQ(event.service, "http");
    EXPECT_EQ(event.actor.name, "the administrator");
    EXPECT_EQ(event.actor.address, "127.0.0.1");
    EXPECT_THAT(event.job_ids, ElementsAre(id));
    EXPECT_THAT(event.patient_ids, ElementsAre("PID-4711"));
  }
}

TEST_F(WebTest, TransfersAreListedAndTriedAgain) {
  FakeTransfers transfers;
  transfers_ = &transfers;
  Start();
  const json list = client().Get("/api/v1/transfers?state=failed&job_id=a").json();
  EXPECT_EQ(list["transfers"][0]["instances"]["total"], 5);
  EXPECT_EQ(list["transfers"][0]["message"], "refused");
  EXPECT_EQ(list["destinations"][0]["failed"], 2);
  EXPECT_EQ(list["next_page_token"], "next");
  EXPECT_THAT(transfers.filter_.states, ElementsAre("failed"));
  EXPECT_EQ(transfers.filter_.job_id, "a");
  client().TakeCsrfToken();
  EXPECT_EQ(client().Post("/api/v1/transfers:retry", {{"job_id", "a"}}).json()["instance_count"],
            2);
  EXPECT_EQ(client().Post("/api/v1/transfers:retry", {{"job_id", "b"}}).status, 404);
  EXPECT_EQ(client().Post("/api/v1/transfers:retry", json::object()).status, 400);
  EXPECT_EQ(client()
                .Post("/api/v1/transfers:try_now", {{"destination", "PACS"}})
                .json()["instance_count"],
            7);
  EXPECT_EQ(client().Post("/api/v1/transfers:try_now", {{"destination", "NONE"}}).status, 404);
}

// People know a job by its room and time.
TEST_F(WebTest, ATransferTellsWhoseItIs) {
  FakeTransfers transfers;
  transfers_ = &transfers;
  Start();
  json listed = client().Get("/api/v1/transfers").json()["transfers"][0];
  for (const char* of_job : {"station_name", "protocol", "accession_number", "job_create_time"}) {
    EXPECT_TRUE(listed[of_job].is_null()) << "of a job that is deleted: " << of_job;
  }
  transfers.job_id_ = Complete();
  const json job = client().Get("/api/v1/jobs/" + transfers.job_id_).json();
  listed = client().Get("/api/v1/transfers").json()["transfers"][0];
  EXPECT_EQ(listed["station_name"], job["station_name"]);
  EXPECT_EQ(listed["protocol"], job["protocol"]);
  EXPECT_EQ(listed["accession_number"], job["accession_number"]);
  EXPECT_EQ(listed["job_create_time"], job["create_time"]);
  EXPECT_FALSE(job["create_time"].is_null());
}

TEST_F(WebTest, ADestinationThatTakesNothingSaysWhyAndWhenItIsTriedAgain) {
  FakeTransfers transfers;
  transfers.destination_.reason = "connection refused";
  transfers.destination_.attempts = 4;
  transfers.destination_.next_try = absl::FromUnixSeconds(1'772'357'412);
  transfers_ = &transfers;
  Start();
  const json destination = client().Get("/api/v1/transfers").json()["destinations"][0];
  EXPECT_EQ(destination["reason"], "connection refused");
  EXPECT_EQ(destination["attempts"], 4);
  EXPECT_EQ(destination["next_try_time"], "2026-03-01T09:30:12.000Z");
}

TEST_F(WebTest, AResultIsSentWhereAnOperatorWants) {
  FakeTransfers transfers;
  transfers_ = &transfers;
  StartWithTokens();
  const std::string id = Complete();
  const std::string path = absl::StrCat("/api/v1/jobs/", id, ":send");
  const auto ask = [&](const char* token, const json& body) {
    return client().Post(path, body, {{"Authorization", absl::StrCat("Bearer ", token)}});
  };
  EXPECT_EQ(ask(kConsoleToken, {{"destination", "PACS"}}).status, 403);
  EXPECT_EQ(transfers.sends_, 0);
  EXPECT_EQ(ask(kOperatorToken, {{"destination", "PACS"}}).status, 200);
  EXPECT_EQ(transfers.sends_, 1);
  const audit::Event sent = audit_.Of(audit::Action::kSend).back();
  EXPECT_EQ(sent.outcome, audit::Outcome::kSuccess);
  EXPECT_EQ(sent.destination, "PACS");
  EXPECT_THAT(sent.job_ids, ElementsAre(id));
  EXPECT_EQ(ask(kOperatorToken, {{"destination", "ELSEWHERE"}}).status, 404);
  EXPECT_EQ(ask(kOperatorToken, {{"destination", 3}}).status, 400);
  EXPECT_EQ(transfers.sends_, 1);

  EXPECT_EQ(ask(kOperatorToken, {{"destination", "PACS"}, {"again", false}}).json()["newly_queued"],
            0);
  EXPECT_EQ(ask(kOperatorToken, {{"destination", "PACS"}, {"again", true}}).json()["newly_queued"],
            5);
  EXPECT_EQ(ask(kConsoleToken, {{"destination", "PACS"}, {"again", true}}).status, 403);
  const HttpAnswer unclear = ask(kOperatorToken, {{"destination", "PACS"}, {"again", "yes"}});
  EXPECT_EQ(unclear.status, 400);
  EXPECT_THAT(unclear.body, HasSubstr("legal is true or false"));
  const HttpAnswer slipped = ask(kOperatorToken, {{"destination", "PACS"}, {"agian", true}});
  EXPECT_EQ(slipped.status, 400);
  EXPECT_THAT(slipped.body, HasSubstr("'agian' is not known; legal are destination, again; did you "
                                      "mean again?"));
  EXPECT_EQ(transfers.sends_, 3);
}

}  // namespace
}  // namespace isocenter::testing
