// Calibration sets over HTTP.
#include "proto/wire/calibration_file.h"
#include "server/calibrations/store.h"
#include "server/calibrations/upload.h"
#include "tests/proto/wire/legal_calibration.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

class CalibrationApiTest : public WebTest {
 protected:
  void SetUp() override {
    store_ = *calibrations::Store::Open({.directory = files_.path() / "calibrations"});
    calibrations_ = store_.get();
  }
  void Add(const std::string& name, const std::string& station) {
    v1::CalibrationSet set = wire::FullSet();
    set.set_name(name);
    set.set_station_name(station);
    const std::string file = wire::CalibrationFile(set);
    auto upload = store_->Begin(name, file.size());
    ASSERT_TRUE(upload.ok()) << upload.status();
    ASSERT_TRUE((*upload)->Append(file).ok());
    ASSERT_TRUE((*upload)->Commit().ok());
  }
  std::unique_ptr<calibrations::Store> store_;
};

TEST_F(CalibrationApiTest, ListsSetsWithoutTheirMaps) {
  StartWithTokens();
  Add("a", "ROOM-1");
  Add("b", "ROOM-2");
  Add("c", "ROOM-2");
  ASSERT_TRUE(store_->Withdraw("c").ok());
  EXPECT_EQ(client().Get("/api/v1/calibrations").status, 401);
  ASSERT_TRUE(client().SignIn(kViewerToken));
  const auto get = [&](const std::string& query) {
    const auto answer = client().Get("/api/v1/calibrations" + query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return nlohmann::json::parse(answer.body);
  };
  const auto of_room = get("?station=ROOM-1");
  ASSERT_EQ(of_room["calibrations"].size(), 1u);
  EXPECT_FALSE(of_room["truncated"]);
  const auto& set = of_room["calibrations"][0];
  EXPECT_EQ(set["name"], "a");
  EXPECT_EQ(set["station_name"], "ROOM-1");
  EXPECT_EQ(set["detector_mode"], "2x2-30fps");
  EXPECT_EQ(set["tube_voltage_kv"], 90);
  EXPECT_EQ(set["columns"], wire::kCalibratedDetector.columns);
  EXPECT_EQ(set["rows"], wire::kCalibratedDetector.rows);
  EXPECT_EQ(set["parts"].size(), 11u);
  EXPECT_EQ(set["quality"].size(), 1u);
  EXPECT_TRUE(set["withdraw_time"].is_null());
  EXPECT_TRUE(set["verify_time"].is_null());
  EXPECT_TRUE(set["valid_until"].is_string());
  EXPECT_EQ(get("")["calibrations"].size(), 2u);
  const auto all = get("?withdrawn=1");
  ASSERT_EQ(all["calibrations"].size(), 3u);
  EXPECT_TRUE(get("?limit=1")["truncated"]);
  for (const char* wrong : {"?limit=0", "?limit=1001", "?withdrawn=2", "?withdrawn=yes"}) {
    EXPECT_EQ(client().Get(std::string("/api/v1/calibrations") + wrong).status, 400) << wrong;
  }
}

TEST_F(CalibrationApiTest, ANodeThatKeepsNoneHasNone) {
  calibrations_ = nullptr;
  StartWithTokens();
  ASSERT_TRUE(client().SignIn(kViewerToken));
  EXPECT_EQ(client().Get("/api/v1/calibrations").body, R"({"calibrations":[],"truncated":false})");
}

}  // namespace
}  // namespace isocenter::testing
