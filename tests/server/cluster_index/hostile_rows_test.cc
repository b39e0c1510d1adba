// A database that says what no node has told it.
#include <string>

#include "tests/server/cluster_index/cluster_fixture.h"

namespace isocenter::cluster_index {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class HostileRowsTest : public ClusterTest {
 protected:
  void SetUp() override {
    Store(Start("a"), "job1", ResultOf("1", 1));
    Store(Start("b"), "job2", ResultOf("2", 1));
    AllStudies(nodes_["a"]);
    AllStudies(nodes_["b"]);
  }
  /// What `a` retrieves of a series of b.
  std::vector<archive::InstanceRow> Retrieve(archive::Gap& gap) {
    auto rows = nodes_["a"].catalog().FindInstances("1.2.2.1", archive::Purpose::kRetrieval, gap);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? *rows : std::vector<archive::InstanceRow>();
  }
};

TEST_F(HostileRowsTest, NoNameLeadsOutOfAnArchive) {
  const std::string set = "UPDATE isocenter.series SET directory = ";
  const std::string file = "UPDATE isocenter.instances SET file_name = ";
  for (const std::string& change :
       {set + "'..'", set + "'.'", set + "''", set + "'a/b'", set + "'/etc'",
        set + "repeat('a', 300)", file + "'../../x'", file + "'/etc/passwd'", file + "''",
        file + "'dicom//1.dcm'", file + "'dicom/../1.dcm'", file + "'dicom/1.dcm/'",
        file + "repeat('a/', 150) || 'a'", file + "E'a\\nb'"}) {
    Run("BEGIN; " + change + " WHERE true; COMMIT");
    archive::Gap gap;
    EXPECT_THAT(Retrieve(gap), SizeIs(0)) << change;
    EXPECT_EQ(gap, "only of node a: the shared index is damaged") << change;
    Run("UPDATE isocenter.series SET directory = 'job2.00000000'; "
        "UPDATE isocenter.instances SET file_name = 'dicom/1.dcm'");
  }
}

TEST_F(HostileRowsTest, NoLinkIsFollowedOutOfAnArchive) {
  archive::Gap gap;
  const auto rows = Retrieve(gap);
  ASSERT_THAT(rows, SizeIs(1));
  archive::Catalog& catalog = nodes_["a"].catalog();
  ASSERT_TRUE(catalog.CheckFile("b", rows[0].file).ok());
  const std::filesystem::path secret = directory_.path() / "secret";
  std::ofstream(secret) << "secret";
  std::filesystem::remove(rows[0].file);
  std::filesystem::create_symlink(secret, rows[0].file);
  EXPECT_EQ(catalog.CheckFile("b", rows[0].file),
            absl::UnavailableError("node b: the file is not in its archive here"));
  std::filesystem::remove_all(rows[0].file.parent_path());
  std::filesystem::create_directory(directory_.path() / "elsewhere");
  std::ofstream(directory_.path() / "elsewhere/1.dcm") << "secret";
  std::filesystem::create_symlink(directory_.path() / "elsewhere", rows[0].file.parent_path());
  EXPECT_EQ(catalog.CheckFile("b", rows[0].file),
            absl::UnavailableError("node b: a link leads out of its archive"));
}

TEST_F(HostileRowsTest, ValuesLargerThanAnyOfOursAreNotBelieved) {
  Run("UPDATE isocenter.studies SET description = repeat('x', 5000)");
  archive::Gap gap;
  EXPECT_THAT(Studies(nodes_["a"], gap), ElementsAre("1.2.1"));
  EXPECT_EQ(gap, "only of node a: the shared index does not answer");
  // The connection that it came by is not used again; others are made.
  Run("UPDATE isocenter.studies SET description = ''");
  EXPECT_THAT(AllStudies(nodes_["a"]), ElementsAre("1.2.1", "1.2.2"));
}

TEST_F(HostileRowsTest, TablesThatAreNotOursAreNoAnswer) {
  Run("ALTER TABLE isocenter.studies RENAME COLUMN date TO day");
  archive::Gap gap;
  EXPECT_THAT(Studies(nodes_["a"], gap), ElementsAre("1.2.1"));
  EXPECT_EQ(gap, "only of node a: the shared index does not answer");
}

}  // namespace
}  // namespace isocenter::cluster_index
