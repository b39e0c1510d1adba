// Nodes with archives of their own and one database.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/archive/archive.h"
#include "server/cluster_index/cluster_index.h"
#include "tests/server/archive/temporary_directory.h"
#include "tests/server/cluster_index/postgres_server.h"

namespace isocenter::cluster_index {

struct TestNode {
  std::unique_ptr<archive::Archive> archive;
  std::unique_ptr<ClusterIndex> index;
  archive::Catalog& catalog() const { return index->catalog(); }
};

class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() : database_(PostgresServer::Get().NewDatabase()) {}

  std::string ArchiveOf(const std::string& node) const {
    return (directory_.path() / node).string();
  }
  ClusterIndexOptions OptionsOf(const std::string& node) const {
    return {.connection = *ParseConnectionString("database", database_),
            .node = node,
            .nodes = {"a", "b", "c"},
            .archives = (directory_.path() / "{node}").string(),
            .answer = absl::Seconds(5)};
  }
  /// A node whose index has all that it has.
  TestNode& Start(const std::string& name) { return StartWith(OptionsOf(name)); }
  TestNode& StartWith(const ClusterIndexOptions& options) {
    Stop(options.node);
    TestNode& node = nodes_[options.node];
    auto archive = archive::Archive::Open(ArchiveOf(options.node));
    EXPECT_TRUE(archive.ok()) << archive.status();
    node.archive = *std::move(archive);
    auto index = ClusterIndex::Start(options, *node.archive);
    EXPECT_TRUE(index.ok()) << index.status();
    node.index = *std::move(index);
    return node;
  }
  void Stop(const std::string& name) { nodes_.erase(name); }

  /// Of one series with so many instances, each in a file that has its UID.
  static archive::Result ResultOf(const std::string& uid, int instances) {
    archive::Result result;
    result.patient = {absl::StrCat("P", uid), absl::StrCat("Family", uid, "^Given"), "19700203",
                      "F"};
    result.study = {.instance_uid = absl::StrCat("1.2.", uid),
                    .date = "20260102",
                    .time = "101112",
                    .accession_number = absl::StrCat("ACC", uid)};
    result.series = {
        .instance_uid = absl::StrCat("1.2.", uid, ".1"), .modality = "CT", .number = 1};
    for (int i = 0; i < instances; ++i) {
      result.instances.push_back({.sop_instance_uid = absl::StrCat("1.2.", uid, ".1.", i + 1),
                                  .sop_class_uid = "1.2.840.10008.5.1.4.1.1.2",
                                  .number = i + 1,
                                  .rows = 8,
                                  .columns = 9,
                                  .file_name = absl::StrCat("dicom/", i + 1, ".dcm")});
    }
    result.raw_file_name = "volume.f32";
    return result;
  }
  static void Store(TestNode& node, const std::string& job, const archive::Result& result) {
    auto staging = node.archive->Stage(job, 0);
    ASSERT_TRUE(staging.ok()) << staging.status();
    std::filesystem::create_directory(staging->directory() / "dicom");
    std::ofstream(staging->directory() / "volume.f32");
    const auto write = [&](const std::vector<archive::Instance>& instances) {
      for (const archive::Instance& instance : instances) {
        std::ofstream(staging->directory() / instance.file_name) << instance.sop_instance_uid;
      }
    };
    write(result.instances);
    for (const auto& further : result.further_series) write(further.instances);
    const absl::Status stored = node.archive->Commit(*std::move(staging), result);
    ASSERT_TRUE(stored.ok()) << stored;
  }

  /// UIDs of the studies that a node finds.
  static std::vector<std::string> Studies(TestNode& node, archive::Gap& gap,
                                          const archive::Selection& selection = {}) {
    const auto rows = node.catalog().FindStudies(selection, gap);
    EXPECT_TRUE(rows.ok()) << rows.status();
    std::vector<std::string> uids;
    if (rows.ok()) {
      for (const auto& row : *rows) uids.push_back(row.study.instance_uid);
    }
    return uids;
  }
  /// The same once nothing is missing.
  static std::vector<std::string> AllStudies(TestNode& node) {
    std::vector<std::string> uids;
    archive::Gap gap;
    const bool is_whole = Eventually([&] {
      gap.clear();
      uids = Studies(node, gap);
      return gap.empty();
    });
    EXPECT_TRUE(is_whole) << gap;
    return uids;
  }
  template <class Condition>
  static bool Eventually(const Condition& condition) {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    while (absl::Now() < deadline) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return false;
  }
  std::string Run(const std::string& sql) { return PostgresServer::Get().Run(database_, sql); }

  TemporaryDirectory directory_;
  const std::string database_;
  std::map<std::string, TestNode> nodes_;
};

}  // namespace isocenter::cluster_index
