// Connection strings that are refused, text that PostgreSQL does not take, connections that end.
#include "server/cluster_index/connection.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/cluster_index/text.h"
#include "tests/server/archive/temporary_directory.h"
#include "tests/server/cluster_index/postgres_server.h"

namespace isocenter::cluster_index {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ConnectionString, BeyondThisMachineTlsProvesWhomItReaches) {
  for (const char* legal :
       {"host=/run/postgresql dbname=isocenter", "host=localhost", "host=127.0.0.1 password=x",
        "postgresql://u:p@localhost/isocenter", "host=db.example.org sslmode=verify-full",
        "host=a,b sslmode=verify-full"}) {
    EXPECT_TRUE(ParseConnectionString("file", legal).ok()) << legal;
  }
  for (const char* illegal :
       {"host=db.example.org", "host=db.example.org sslmode=require", "dbname=isocenter",
        "host=localhost,db.example.org", "host=localhost hostaddr=192.0.2.1", "service=isocenter",
        "postgresql://u:secretword@db.example.org/isocenter", "host=localhost pasword=secretword",
        "", "secretword"}) {
    const auto status = ParseConnectionString("file", illegal).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << illegal;
    EXPECT_THAT(std::string(status.message()), HasSubstr("legal"));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secretword")));
  }
}

TEST(ConnectionString, ItsFileIsASecret) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "connection";
  std::ofstream(file) << "host=/run/postgresql dbname=isocenter\nignored\n";
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  const auto read = ReadConnectionString("field", file.string());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, (ConnectionParameters{{"dbname", "isocenter"}, {"host", "/run/postgresql"}}));
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  EXPECT_EQ(ReadConnectionString("field", file.string()).status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(Text, WhatIsNoCharacterIsReplaced) {
  constexpr char kNo[] = "\xef\xbf\xbd";
  EXPECT_EQ(Clean("a\xc3\xa9\xe5\xb1\xb1\xf0\x9f\x98\x80"),
            "a\xc3\xa9\xe5\xb1\xb1\xf0\x9f\x98\x80");
  EXPECT_EQ(Clean("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf");
  for (const std::string one : {"\x80", "\xff", "\xc0", "\xe5", "\xf4"}) EXPECT_EQ(Clean(one), kNo);
  EXPECT_EQ(Clean(std::string(1, '\0')), kNo);
  EXPECT_EQ(Clean("\xc0\x80"), std::string(kNo) + kNo);             // too long a form
  EXPECT_EQ(Clean("\xf4\x90\x80\x80").size(), 4 * sizeof kNo - 4);  // beyond the last
  EXPECT_EQ(ArrayOf({"a", "b\"c\\", ""}), "{\"a\",\"b\\\"c\\\\\",\"\"}");
}

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    auto connection = Connection::Open(
        *ParseConnectionString("database", PostgresServer::Get().NewDatabase()), Soon());
    EXPECT_TRUE(connection.ok()) << connection.status();
    connection_ = *std::move(connection);
  }
  static absl::Time Soon() { return absl::Now() + absl::Seconds(30); }
  std::unique_ptr<Connection> connection_;
};

TEST_F(ConnectionTest, ValuesAreNoSqlAndAreNotInMessages) {
  std::string answer;
  ASSERT_TRUE(connection_
                  ->Query("SELECT $1::text || $2::bigint", {"'; DROP TABLE x; --", 7}, Soon(),
                          [&](const Row& row) { answer = row.Text(0); })
                  .ok());
  EXPECT_EQ(answer, "'; DROP TABLE x; --7");
  const absl::Status refused = connection_->Execute("SELECT $1::integer", {"Doe^Jane"}, Soon());
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("Doe")));
  EXPECT_TRUE(connection_->IsAlive());
}

TEST_F(ConnectionTest, NothingIsWaitedForLongerThanItWasTold) {
  const absl::Status status =
      connection_->Execute("SELECT pg_sleep(60)", {}, absl::Now() + absl::Milliseconds(200));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(connection_->IsAlive());
  EXPECT_EQ(connection_->Execute("SELECT 1", {}, Soon()).code(), absl::StatusCode::kUnavailable);
}

TEST_F(ConnectionTest, AnAnswerHasAnEnd) {
  const absl::Status status =
      connection_->Execute("SELECT repeat('x', 4000) FROM generate_series(1, 100000)", {}, Soon());
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(connection_->IsAlive());
}

TEST_F(ConnectionTest, WhatFailsInATransactionIsUndone) {
  ASSERT_TRUE(connection_->Execute("CREATE TABLE t (n integer)", {}, Soon()).ok());
  const absl::Status status = connection_->InTransaction("BEGIN", Soon(), [&] {
    EXPECT_TRUE(connection_->Execute("INSERT INTO t VALUES (1)", {}, Soon()).ok());
    return absl::InternalError("no");
  });
  EXPECT_EQ(status, absl::InternalError("no"));
  int64_t count = -1;
  ASSERT_TRUE(connection_
                  ->Query("SELECT COUNT(*) FROM t", {}, Soon(),
                          [&](const Row& row) { count = row.Integer(0); })
                  .ok());
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace isocenter::cluster_index
