#include "kernels/recon/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<DeviceSpan> kTrace = {
    {0, {ops::Stage::kUpload, 10.0, 10.5}},
    {0, {ops::Stage::kBackproject, 10.25, 11.0}},
    {1, {ops::Stage::kBackproject, 12.0, 12.5}},
    {1, {ops::Stage::kBackproject, 12.5, 13.0}},
};

TEST(SecondsOf, TakesTheBusiestDeviceAndCountsOverlapOnce) {
  const StageSeconds seconds = SecondsOf(kTrace);
  EXPECT_DOUBLE_EQ(seconds.upload, 0.5);
  EXPECT_DOUBLE_EQ(seconds.backproject, 1.0);
  EXPECT_DOUBLE_EQ(seconds.download, 0);
  EXPECT_DOUBLE_EQ(seconds.busy, 2.0);
  EXPECT_EQ(SecondsOf({}).busy, 0);
}

TEST(ChromeTrace, NamesLanesAndCountsFromTheFirstSpan) {
  const std::string json = ChromeTrace(kTrace, "grid: 2x2x2\norder: any\n");
  EXPECT_THAT(json, HasSubstr(R"("otherData":{"plan":"grid: 2x2x2\norder: any\n"})"));
  EXPECT_THAT(
      json,
      HasSubstr(R"({"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"device 1"}})"));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"({"name":"upload","ph":"X","pid":0,"tid":1,"ts":0.000,"dur":500000.000,"args":{"index":0}})"));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"({"name":"backproject","ph":"X","pid":1,"tid":2,"ts":2500000.000,"dur":500000.000,"args":{"index":1}})"));
  EXPECT_EQ(json.substr(json.size() - 4), "\n]}\n");
  EXPECT_THAT(ChromeTrace({}, ""), HasSubstr(R"("traceEvents":[)"));
  EXPECT_THAT(json, Not(HasSubstr("begin_unix_us")));
  EXPECT_THAT(ChromeTrace(kTrace, "", absl::FromUnixMicros(1767225600123456)),
              HasSubstr(R"("begin_unix_us":1767225600123456},)"));
}

}  // namespace
}  // namespace isocenter::recon
