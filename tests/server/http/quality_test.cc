// Image quality over HTTP.
#include "server/quality/store.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

class QualityApiTest : public WebTest {
 protected:
  void SetUp() override {
    store_ = *quality_records::Store::Open({.directory = files_.path() / "quality"});
    quality_ = store_.get();
  }
  void Record(double noise, bool baseline) {
    v1::QualityResult result;
    result.set_station_name("ROOM-1");
    result.set_protocol("head");
    result.set_baseline(baseline);
    v1::QualityMeasure& measure = *result.add_measure();
    measure.set_name("noise_hu");
    measure.set_value(noise);
    measure.set_tolerance(1);
    if (!baseline) {
      v1::QualityMeasure& other = *result.add_measure();
      other.set_name("water_hu");
      other.set_tolerance(4);
    }
    result.mutable_conditions()->set_filter(baseline ? "hann 0.70" : "ram-lak 1.00");
    ASSERT_TRUE(store_->Record(result).ok());
  }
  std::unique_ptr<quality_records::Store> store_;
};

TEST_F(QualityApiTest, ListsResultsWithTheirVerdicts) {
  StartWithTokens();
  Record(20, true);
  Record(23, false);
  EXPECT_EQ(client().Get("/api/v1/quality").status, 401);
  ASSERT_TRUE(client().SignIn(kViewerToken));
  const auto answer = client().Get("/api/v1/quality?station=ROOM-1&limit=1");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto json = nlohmann::json::parse(answer.body);
  ASSERT_EQ(json["results"].size(), 1u);
  EXPECT_TRUE(json["truncated"]);
  const auto& result = json["results"][0];
  EXPECT_EQ(result["measures"]["noise_hu"], 23);
  EXPECT_EQ(result["passed"], false);
  EXPECT_EQ(result["verdicts"][0]["baseline"], 20);
  EXPECT_EQ(result["verdicts"][0]["not_comparable"], result["changed_conditions"][0]);
  EXPECT_EQ(result["conditions"]["filter"], "ram-lak 1.00");
  EXPECT_EQ(result["conditions"]["frames"], nullptr);
  EXPECT_EQ(result["same_scan_id"], nullptr);
  ASSERT_EQ(result["not_judged"].size(), 1u);
  EXPECT_EQ(result["not_judged"][0]["name"], "water_hu");
  EXPECT_NE(result["not_judged"][0]["why"], "");
  EXPECT_EQ(
      nlohmann::json::parse(client().Get("/api/v1/quality?station=other").body)["results"].size(),
      0u);
  EXPECT_EQ(client().Get("/api/v1/quality?limit=0").status, 400);
}

}  // namespace
}  // namespace isocenter::testing
