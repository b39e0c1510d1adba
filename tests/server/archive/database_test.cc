#include "server/archive/database.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/archive/temporary_directory.h"

namespace isocenter::archive {
namespace {

using ::testing::HasSubstr;

class DatabaseTest : public ::testing::Test {
 protected:
  absl::StatusOr<Database> Open() { return Database::Open(directory_.path() / "test.sqlite"); }
  static int64_t Integer(Database& database, const std::string& sql) {
    int64_t value = -1;
    EXPECT_TRUE(database.Query(sql, {}, [&](const Row& row) { value = row.Integer(0); }).ok());
    return value;
  }
  TemporaryDirectory directory_;
};

constexpr const char* kTwoSteps[] = {"CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1)",
                                     "ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 7"};

TEST_F(DatabaseTest, MigratesStepByStepAndOnce) {
  {
    auto database = Open();
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE(database->Migrate({kTwoSteps, 1}).ok());
  }
  auto database = Open();
  ASSERT_TRUE(database.ok()) << database.status();
  ASSERT_TRUE(database->Migrate(kTwoSteps).ok());
  ASSERT_TRUE(database->Migrate(kTwoSteps).ok());
  EXPECT_EQ(Integer(*database, "SELECT y FROM a"), 7);
  EXPECT_EQ(Integer(*database, "SELECT COUNT(*) FROM a"), 1);
  EXPECT_EQ(Integer(*database, "PRAGMA user_version"), 2);
}

TEST_F(DatabaseTest, FailedStepLeavesTheVersionBefore) {
  auto database = Open();
  ASSERT_TRUE(database.ok()) << database.status();
  const char* const broken[] = {kTwoSteps[0], "CREATE TABLE b (x INTEGER); NONSENSE"};
  EXPECT_FALSE(database->Migrate(broken).ok());
  EXPECT_EQ(Integer(*database, "PRAGMA user_version"), 1);
  EXPECT_EQ(Integer(*database, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'b'"), 0);
}

TEST_F(DatabaseTest, NewerVersionIsRefused) {
  auto database = Open();
  ASSERT_TRUE(database.ok()) << database.status();
  ASSERT_TRUE(database->ExecuteScript("PRAGMA user_version = 9").ok());
  const absl::Status status = database->Migrate(kTwoSteps);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 9"));
}

TEST_F(DatabaseTest, TransactionsAreAllOrNothing) {
  auto database = Open();
  ASSERT_TRUE(database.ok()) << database.status();
  ASSERT_TRUE(database->Migrate(kTwoSteps).ok());
  const absl::Status status = database->InTransaction([&]() -> absl::Status {
    EXPECT_TRUE(database->Execute("INSERT INTO a (x) VALUES (?1)", {2}).ok());
    return absl::AbortedError("changed my mind");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Integer(*database, "SELECT COUNT(*) FROM a"), 1);
}

TEST_F(DatabaseTest, WhatIsNoDatabaseIsDataLoss) {
  std::ofstream(directory_.path() / "test.sqlite") << std::string(5000, 'x');
  const absl::Status status = Open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(),
            absl::StrCat("index ", (directory_.path() / "test.sqlite").string(),
                         " is damaged: file is not a database; put that of the last copy of the "
                         "archive in its place: results that it does not name are kept in "
                         "damaged/"));
}

TEST_F(DatabaseTest, DamageIsFound) {
  {
    auto database = Open();
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE(database->Migrate(kTwoSteps).ok());
    ASSERT_TRUE(database
                    ->Execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                              "WHERE i < 5000) INSERT INTO a (x) SELECT i FROM n")
                    .ok());
    ASSERT_TRUE(database->CheckIntegrity().ok());
  }
  {
    std::fstream file(directory_.path() / "test.sqlite",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 2);
    file << std::string(4096, '\x5a');
  }
  auto database = Open();
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ(database->CheckIntegrity().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace isocenter::archive
