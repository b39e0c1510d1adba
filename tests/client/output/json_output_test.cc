// What is not known is left out of every document.
#include "client/cli/output/json_output.h"

#include <gtest/gtest.h>

namespace isocenter::cli {
namespace {

using Json = nlohmann::ordered_json;

TEST(WithoutUnknown, LeavesOutEmptyTextsAtAnyDepthAndNothingElse) {
  const Json document =
      Json::parse(R"({"job_id": "a", "station_name": "", "frames": 0, "ready": false,
      "warnings": [], "grid": {}, "transfers": [{"reason": "", "attempts": 1}],
      "drain": {"by": "", "reason": "test"}})");
  const Json expected = Json::parse(R"({"job_id": "a", "frames": 0, "ready": false, "warnings": [],
      "grid": {}, "transfers": [{"attempts": 1}], "drain": {"reason": "test"}})");
  EXPECT_EQ(WithoutUnknown(document), expected);
}

TEST(WithoutUnknown, KeepsTheTextsOfArrays) {
  const Json document = Json::parse(R"([{"labels": ["", "b"]}, ""])");
  EXPECT_EQ(WithoutUnknown(document), document);
}

}  // namespace
}  // namespace isocenter::cli
