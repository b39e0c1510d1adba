// What is made of a finished volume: sending it, refining it, and who may ask for that.
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Accepts what it is told to.
class FakeRefiner : public http::Refiner {
 public:
  std::vector<http::RefinementOffer> Offers() const override {
    return {{.protocol = "fdk_then_ossart",
             .description = "OS-SART",
             .algorithm = "os_sart",
             .iterations = 5,
             .subsets = 20},
            {.protocol = "head_metal",
             .second_pass = jobs::SecondPassFacts{.metal = true},
             .deadline_seconds = 60}};
  }
  void Refine(const http::RefinementWish& wish, Done done) override {
    wishes_.push_back(wish);
    if (refusal_.ok()) return done(job_);
    done(refusal_);
  }
  std::vector<http::RefinementWish> wishes_;
  absl::Status refusal_;
  jobs::JobSnapshot job_;
};

class FakeSimulator : public http::Simulator {
 public:
  void Begin(const std::string& by, Done done) override {
    asked_by_.push_back(by);
    if (refusal_.ok()) return done(job_);
    done(refusal_);
  }
  std::vector<std::string> asked_by_;
  absl::Status refusal_;
  jobs::JobSnapshot job_;
};

class OrderTest : public WebTest {
 protected:
  HttpAnswer Ask(const char* token, const std::string& path, const json& body) {
    return client().Post(path, body, {{"Authorization", absl::StrCat("Bearer ", token)}});
  }
};

TEST_F(OrderTest, RefinementsAreOfferedAndAskedFor) {
  FakeRefiner refiner;
  refiner_ = &refiner;
  StartWithTokens();
  const std::string id = Complete();
  refiner.job_ = *service_.table->Get(id);
  const std::string path = absl::StrCat("/api/v1/jobs/", id, ":refine");
  const json offers =
      client()
          .Get("/api/v1/refinements", {{"Authorization", absl::StrCat("Bearer ", kViewerToken)}})
          .json()["refinements"];
  ASSERT_THAT(offers, SizeIs(2));
  EXPECT_EQ(offers[0], json({{"protocol", "fdk_then_ossart"},
                             {"description", "OS-SART"},
                             {"algorithm", "os_sart"},
                             {"iterations", 5},
                             {"subsets", 20},
                             {"second_pass", nullptr},
                             {"deadline_seconds", nullptr}}));
  EXPECT_EQ(offers[1]["iterations"], nullptr);
  EXPECT_EQ(offers[1]["second_pass"]["metal"], true);
  EXPECT_EQ(offers[1]["second_pass"]["motion"], false);

  const json wish = {
      {"protocol", "fdk_then_ossart"}, {"deadline_seconds", 90}, {"request_id", "p-1"}};
  EXPECT_EQ(Ask(kViewerToken, path, wish).status, 403);
  EXPECT_THAT(refiner.wishes_, SizeIs(0));
  const HttpAnswer accepted = Ask(kConsoleToken, path, wish);
  ASSERT_EQ(accepted.status, 200) << accepted.body;
  EXPECT_EQ(accepted.json()["job_id"], id);
  ASSERT_THAT(refiner.wishes_, SizeIs(1));
  EXPECT_EQ(refiner.wishes_[0].job_id, id);
  EXPECT_EQ(refiner.wishes_[0].protocol, "fdk_then_ossart");
  EXPECT_EQ(refiner.wishes_[0].deadline_seconds, 90);
  EXPECT_EQ(refiner.wishes_[0].request_id, "p-1");
  EXPECT_EQ(audit_.Of(audit::Action::kRefine).back().outcome, audit::Outcome::kSuccess);

  refiner.refusal_ = absl::FailedPreconditionError("the frames of the job are gone");
  const HttpAnswer refused = Ask(kConsoleToken, path, wish);
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("the frames of the job are gone"));
  EXPECT_EQ(audit_.Of(audit::Action::kRefine).back().outcome, audit::Outcome::kRefused);
  EXPECT_EQ(Ask(kConsoleToken, path, {{"deadline_seconds", "soon"}}).status, 400);
  EXPECT_EQ(Ask(kConsoleToken, "/api/v1/jobs/none:refine", wish).status, 404);
}

TEST_F(OrderTest, ASimulatedScanNeedsTheConfigurationAndARole) {
  StartWithTokens();
  const std::string bearer = absl::StrCat("Bearer ", kViewerToken);
  EXPECT_EQ(
      client().Get("/api/v1/status", {{"Authorization", bearer}}).json()["simulated_scans_enabled"],
      false);
  const HttpAnswer refused = Ask(kOperatorToken, "/api/v1/simulations", json::object());
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("web.simulated_scans is false"));
}

TEST_F(OrderTest, ASimulatedScanIsBegunAndRecorded) {
  FakeSimulator simulator;
  simulator_ = &simulator;
  StartWithTokens();
  const std::string id = Complete();
  simulator.job_ = *service_.table->Get(id);
  const std::string bearer = absl::StrCat("Bearer ", kViewerToken);
  EXPECT_EQ(
      client().Get("/api/v1/status", {{"Authorization", bearer}}).json()["simulated_scans_enabled"],
      true);
  EXPECT_EQ(Ask(kViewerToken, "/api/v1/simulations", json::object()).status, 403);
  EXPECT_THAT(simulator.asked_by_, SizeIs(0));
  const HttpAnswer begun = Ask(kConsoleToken, "/api/v1/simulations", json::object());
  ASSERT_EQ(begun.status, 200) << begun.body;
  EXPECT_EQ(begun.json()["job_id"], id);
  EXPECT_THAT(simulator.asked_by_, ElementsAre("the console"));
  EXPECT_EQ(audit_.Of(audit::Action::kAcquire).back().outcome, audit::Outcome::kSuccess);
  EXPECT_THAT(audit_.Of(audit::Action::kAcquire).back().job_ids, ElementsAre(id));

  simulator.refusal_ = absl::FailedPreconditionError("simulated scan 'x' is under way");
  const HttpAnswer refused = Ask(kConsoleToken, "/api/v1/simulations", json::object());
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("is under way"));
  EXPECT_EQ(audit_.Of(audit::Action::kAcquire).back().outcome, audit::Outcome::kRefused);
}

TEST_F(OrderTest, APageOfAnotherSiteRefinesAndSendsNothing) {
  FakeRefiner refiner;
  refiner_ = &refiner;
  StartWithTokens();
  const std::string id = Complete();
  ASSERT_TRUE(client().SignIn(kOperatorToken));
  for (const char* verb : {":refine", ":send"}) {
    EXPECT_EQ(client()
                  .Post(absl::StrCat("/api/v1/jobs/", id, verb), json::object(),
                        {{"X-CSRF-Token", "guessed"}})
                  .status,
              403)
        << verb;
  }
  EXPECT_THAT(refiner.wishes_, SizeIs(0));
}

}  // namespace
}  // namespace isocenter::testing
