// One request, to a server that says what it likes.
#include "server/stow/store_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/fakes/scripted_web_server.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::stow {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Server = isocenter::testing::ScriptedWebServer;
using Kind = Outcome::Kind;

constexpr char kJson[] = "application/dicom+json";
constexpr char kBoth[] = R"({
  "00081199": {"vr": "SQ", "Value": [{"00081155": {"vr": "UI", "Value": ["1.1"]}}]},
  "00081198": {"vr": "SQ", "Value": [{"00081155": {"vr": "UI", "Value": ["1.2"]},
                                      "00081197": {"vr": "US", "Value": [42752]}}]}})";

class StoreRequestTest : public ::testing::Test {
 protected:
  StoreRequestTest() : server_([this](const Server::Seen&) { return answer_; }) {}
  Object Write(const std::string& uid, const std::string& bytes) {
    const std::filesystem::path file = directory_.path() / uid;
    std::ofstream(file, std::ios::binary) << bytes;
    return {.sop_instance_uid = uid, .file = file, .bytes = bytes.size()};
  }
  Outcome Send(std::vector<Object> objects) {
    return Store(destination_, std::move(objects), [] { return false; });
  }
  Outcome SendThree() { return Send({Write("1.1", "one"), Write("1.2", "two"), Write("1.3", "")}); }

  const isocenter::testing::TemporaryDirectory directory_;
  std::string answer_;
  Server server_;
  Destination destination_{.url = server_.url() + "/dicom-web/studies"};
};

TEST_F(StoreRequestTest, SendsAsTheStandardSays) {
  answer_ = Server::Answer("202 Accepted", kJson, kBoth);
  const Outcome outcome = SendThree();
  ASSERT_EQ(outcome.kind, Kind::kEach) << outcome.reason;
  ASSERT_EQ(outcome.receptions.size(), 3);
  EXPECT_EQ(outcome.receptions[0].kind, Reception::Kind::kStored);
  EXPECT_EQ(outcome.receptions[1].kind, Reception::Kind::kRefused);
  EXPECT_EQ(outcome.receptions[1].failure_reason, 0xa700);
  EXPECT_EQ(outcome.receptions[2].kind, Reception::Kind::kUnnamed);
  EXPECT_TRUE(outcome.has_begun);
  const Server::Seen seen = server_.seen().at(0);
  EXPECT_THAT(seen.head, HasSubstr("POST /dicom-web/studies HTTP/1.1\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("\r\nAccept: application/dicom+json\r\n"));
  EXPECT_THAT(seen.head, Not(HasSubstr("Authorization")));
  constexpr char kType[] =
      "\r\nContent-Type: multipart/related; type=\"application/dicom\"; boundary=";
  const size_t at = seen.head.find(kType);
  ASSERT_NE(at, std::string::npos) << seen.head;
  const size_t begin = at + sizeof(kType) - 1;
  const std::string boundary = seen.head.substr(begin, seen.head.find("\r\n", begin) - begin);
  EXPECT_EQ(boundary.size(), 64);
  const std::string part =
      absl::StrCat("--", boundary, "\r\nContent-Type: application/dicom\r\n\r\n");
  EXPECT_EQ(seen.body,
            absl::StrCat(part, "one\r\n", part, "two\r\n", part, "\r\n--", boundary, "--\r\n"));
  SendThree();
  EXPECT_THAT(server_.seen().at(1).head, Not(HasSubstr(boundary))) << "another each time";
}

TEST_F(StoreRequestTest, TheTokenIsReadForEachRequest) {
  destination_.bearer_token_file = (directory_.path() / "token").string();
  answer_ = Server::Answer("200 OK", kJson, kBoth);
  const auto send = [&](const std::string& token) {
    std::ofstream(destination_.bearer_token_file) << token << "\n";
    std::filesystem::permissions(
        destination_.bearer_token_file,
        std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return SendThree();
  };
  EXPECT_EQ(send("first").kind, Kind::kEach);
  EXPECT_EQ(send("second").kind, Kind::kEach);
  EXPECT_THAT(server_.seen().at(0).head, HasSubstr("\r\nAuthorization: Bearer first\r\n"));
  EXPECT_THAT(server_.seen().at(1).head, HasSubstr("\r\nAuthorization: Bearer second\r\n"));
  const Outcome outcome = send("no token");
  EXPECT_EQ(outcome.kind, Kind::kTryLater);
  EXPECT_FALSE(outcome.has_begun);
  EXPECT_THAT(outcome.reason, HasSubstr("bearer_token_file"));
  EXPECT_EQ(server_.seen().size(), 2);
}

TEST_F(StoreRequestTest, WhatAnAnswerMeansForAll) {
  struct {
    const char* status;
    Kind kind;
  } const cases[] = {
      {"400 Bad Request", Kind::kRefused},
      {"409 Conflict", Kind::kRefused},
      {"415 Unsupported Media Type", Kind::kRefused},
      {"422 Unprocessable Content", Kind::kRefused},
      {"413 Content Too Large", Kind::kTooLarge},
      {"204 No Content", Kind::kTryLater},
      {"302 Found", Kind::kTryLater},
      {"401 Unauthorized", Kind::kTryLater},
      {"403 Forbidden", Kind::kTryLater},
      {"404 Not Found", Kind::kTryLater},
      {"405 Method Not Allowed", Kind::kTryLater},
      {"406 Not Acceptable", Kind::kTryLater},
      {"408 Request Timeout", Kind::kTryLater},
      {"429 Too Many Requests", Kind::kTryLater},
      {"500 Internal Server Error", Kind::kTryLater},
      {"503 Service Unavailable", Kind::kTryLater},
  };
  for (const auto& [status, kind] : cases) {
    answer_ = Server::Answer(status, "text/html", status[0] == '2' ? "" : "<p>no</p>",
                             "Location: /elsewhere\r\n");
    const Outcome outcome = SendThree();
    EXPECT_EQ(outcome.kind, kind) << status;
    EXPECT_THAT(outcome.reason, HasSubstr(absl::StrCat("HTTP status ", std::string(status, 3))));
    EXPECT_TRUE(outcome.receptions.empty());
  }
  EXPECT_EQ(server_.seen().size(), std::size(cases)) << "none was led elsewhere";
}

TEST_F(StoreRequestTest, AConflictMaySayWhatEachHas) {
  answer_ = Server::Answer("409 Conflict", kJson, kBoth);
  EXPECT_EQ(SendThree().kind, Kind::kEach);
  for (const char* body : {"{}", "{", "[]"}) {
    answer_ = Server::Answer("409 Conflict", kJson, body);
    EXPECT_EQ(SendThree().kind, Kind::kRefused) << body;
  }
}

TEST_F(StoreRequestTest, NobodyIsBelievedToHaveWhatHeDoesNotName) {
  answer_ = Server::Answer("200 OK", kJson, "{}");
  for (const Reception& reception : SendThree().receptions) {
    EXPECT_EQ(reception.kind, Reception::Kind::kUnnamed);
  }
  // Named in both lists.
  answer_ = Server::Answer(
      "200 OK", kJson,
      R"({"00081199": {"vr": "SQ", "Value": [{"00081155": {"vr": "UI", "Value": ["1.1"]}}]},
          "00081198": {"vr": "SQ", "Value": [{"00081155": {"vr": "UI", "Value": ["1.1"]},
                                              "00081197": {"vr": "US", "Value": [49152]}}]}})");
  EXPECT_EQ(SendThree().receptions.at(0).kind, Reception::Kind::kRefused);
  for (const char* body : {"", "<xml/>", "{\"00081199\": 1", "[1]"}) {
    answer_ = Server::Answer("200 OK", kJson, body);
    const Outcome outcome = SendThree();
    EXPECT_EQ(outcome.kind, Kind::kTryLater) << body;
    EXPECT_THAT(outcome.reason, HasSubstr("no store response"));
  }
  answer_ = Server::Answer("200 OK", "application/dicom+xml", kBoth);
  EXPECT_THAT(SendThree().reason, HasSubstr("application/dicom+json"));
}

TEST_F(StoreRequestTest, AnAnswerIsBounded) {
  answer_ = Server::Answer("200 OK", kJson, std::string((1 << 20) + 1, ' '));
  const Outcome outcome = SendThree();
  EXPECT_EQ(outcome.kind, Kind::kTryLater);
  EXPECT_THAT(outcome.reason, HasSubstr("longer than 1048576"));
  answer_ = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}";
  EXPECT_EQ(SendThree().kind, Kind::kTryLater) << "a connection that is cut";
  answer_ = "garbage";
  EXPECT_EQ(SendThree().kind, Kind::kTryLater);
}

TEST_F(StoreRequestTest, SaysHowLongToWait) {
  answer_ = Server::Answer("503 Busy", "text/plain", "", "Retry-After: 120\r\n");
  EXPECT_EQ(SendThree().retry_after, absl::Minutes(2));
  answer_ = Server::Answer("503 Busy", "text/plain", "", "Retry-After: -1\r\n");
  EXPECT_EQ(SendThree().retry_after, absl::ZeroDuration());
}

TEST_F(StoreRequestTest, NothingLeavesForNobody) {
  destination_.url = "http://127.0.0.1:1/studies";
  const Outcome outcome = SendThree();
  EXPECT_EQ(outcome.kind, Kind::kTryLater);
  EXPECT_FALSE(outcome.has_begun);
  EXPECT_THAT(outcome.reason, HasSubstr("no answer: "));
}

TEST_F(StoreRequestTest, AFileThatIsGoneEndsTheRequest) {
  answer_ = Server::Answer("200 OK", kJson, kBoth);
  Object gone = Write("1.1", "one");
  std::filesystem::remove(gone.file);
  const Outcome outcome = Send({gone});
  EXPECT_EQ(outcome.kind, Kind::kTryLater);
  EXPECT_THAT(outcome.reason, HasSubstr("1.1"));
}

}  // namespace
}  // namespace isocenter::stow
