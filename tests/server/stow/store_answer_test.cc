#include "server/stow/store_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace isocenter::stow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kJson[] = "application/dicom+json";

std::string Stored(const std::string& items) {
  return R"({"00081199": {"vr": "SQ", "Value": [)" + items + "]}}";
}
std::string Refused(const std::string& items) {
  return R"({"00081198": {"vr": "SQ", "Value": [)" + items + "]}}";
}
std::string Uid(const std::string& uid) {
  return R"("00081155": {"vr": "UI", "Value": [")" + uid + "\"]}";
}

TEST(StoreAnswer, NamesWhatWasStoredAndWhatNot) {
  const std::string body = R"({
    "00081190": {"vr": "UR", "Value": ["https://pacs/studies/1"]},
    "00081198": {"vr": "SQ", "Value": [
      {"00081150": {"vr": "UI", "Value": ["1.2.840.10008.5.1.4.1.1.2"]},
       "00081155": {"vr": "UI", "Value": ["1.3"]}, "00081197": {"vr": "US", "Value": [272]}}]},
    "00081199": {"vr": "SQ", "Value": [
      {"00081155": {"vr": "UI", "Value": ["1.1"]}, "00081190": {"vr": "UR", "Value": ["x"]}},
      {"00081155": {"vr": "UI", "Value": ["1.2"]}, "00081196": {"vr": "US", "Value": [45056]}}]}})";
  for (const std::string& text : {body, "[" + body + "]"}) {
    const auto answer = ParseStoreAnswer("application/dicom+json; charset=utf-8", text);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_THAT(answer->stored, ElementsAre("1.1", "1.2"));
    EXPECT_THAT(answer->refused, UnorderedElementsAre(Pair("1.3", 0x0110)));
  }
}

TEST(StoreAnswer, ThatNamesNothingIsOne) {
  for (const char* text : {"{}", "[{}]", R"({"00081198": {"vr": "SQ"}})",
                           R"({"00081199": {"vr": "SQ", "Value": []}})"}) {
    const auto answer = ParseStoreAnswer("APPLICATION/JSON", text);
    ASSERT_TRUE(answer.ok()) << text << answer.status();
    EXPECT_TRUE(answer->stored.empty() && answer->refused.empty());
  }
}

TEST(StoreAnswer, WhatIsNoneIsRefused) {
  for (const std::string& text :
       {std::string(),
        std::string("<html></html>"),
        std::string("{"),
        std::string("{} {}"),
        std::string("[]"),
        std::string("[{}, {}]"),
        std::string("[[]]"),
        std::string("1"),
        std::string("null"),
        std::string("{\"a\": \"\xff\"}"),
        std::string(R"({"00081199": {}, "00081199": {}})"),
        Stored("1"),
        Stored("[]"),
        Stored("{}"),
        Stored(R"({"00081155": {"vr": "UI"}})"),
        Stored(R"({"00081155": {"vr": "UI", "Value": [1]}})"),
        Stored("{" + Uid("") + "}"),
        Stored("{" + Uid("1.2<script>") + "}"),
        Stored("{" + Uid(std::string(65, '1')) + "}"),
        Refused("{" + Uid("1.2") + "}"),
        Refused("{" + Uid("1.2") + R"(, "00081197": {"vr": "US", "Value": ["272"]}})"),
        Refused("{" + Uid("1.2") + R"(, "00081197": {"vr": "US", "Value": [-1]}})"),
        Refused("{" + Uid("1.2") + R"(, "00081197": {"vr": "US", "Value": [65536]}})"),
        std::string(100'000, '['),
        std::string(100'000, '{'),
        R"({"a": )" + std::string(9, '[') + std::string(9, ']') + "}"}) {
    const auto answer = ParseStoreAnswer(kJson, text);
    EXPECT_TRUE(absl::IsInvalidArgument(answer.status())) << text.substr(0, 100);
    EXPECT_THAT(std::string(answer.status().message()), HasSubstr("no store response"));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ParseStoreAnswer("application/dicom+xml", "{}").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseStoreAnswer("", "{}").status()));
}

}  // namespace
}  // namespace isocenter::stow
