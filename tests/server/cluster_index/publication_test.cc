// What nodes write into the shared index.
#include <string>

#include "tests/server/cluster_index/cluster_fixture.h"

namespace isocenter::cluster_index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using PublicationTest = ClusterTest;

TEST_F(PublicationTest, ResultsComeChangeAndGo) {
  TestNode& a = Start("a");
  Store(a, "job1", ResultOf("1", 3));
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1"));
  EXPECT_EQ(Run("SELECT COUNT(*) FROM isocenter.instances"), "3");
  // Stored again with fewer instances and another name.
  archive::Result changed = ResultOf("1", 2);
  changed.patient.name = "Other^Name=\xe5\xb1\xb1";
  Store(a, "job1", changed);
  archive::Gap gap;
  EXPECT_THAT(Studies(a, gap, {.patient_names = {{"other", true}}}), ElementsAre("1.2.1"));
  EXPECT_THAT(Studies(a, gap, {.patient_names = {{"family", true}}}), IsEmpty());
  EXPECT_EQ(gap, "");
  EXPECT_EQ(Run("SELECT COUNT(*) FROM isocenter.instances"), "2");
  ASSERT_TRUE(a.archive->Delete("job1").ok());
  EXPECT_THAT(AllStudies(a), IsEmpty());
  for (const char* table : {"instances", "series", "studies", "patients", "patient_names"}) {
    EXPECT_EQ(Run(absl::StrCat("SELECT COUNT(*) FROM isocenter.", table)), "0") << table;
  }
}

TEST_F(PublicationTest, TextOfAnyBytesIsPublished) {
  TestNode& a = Start("a");
  archive::Result result = ResultOf("1", 1);
  result.patient.name = std::string("Nul\0Quote\"Back\\slash'{}\xff\xed\xa0\x80", 27);
  Store(a, "job1", result);
  AllStudies(a);
  archive::Gap gap;
  const auto rows = a.catalog().FindPatients({}, gap);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1);
  constexpr char kNo[] = "\xef\xbf\xbd";
  EXPECT_EQ((*rows)[0].patient.name,
            absl::StrCat("Nul", kNo, "Quote\"Back\\slash'{}", kNo, kNo, kNo, kNo));
  EXPECT_EQ(gap, "");
}

TEST_F(PublicationTest, ANodeThatJoinsTellsAllThatItHas) {
  {
    auto archive = archive::Archive::Open(ArchiveOf("b"));
    TestNode alone{.archive = *std::move(archive)};
    Store(alone, "job1", ResultOf("1", 2));
    Store(alone, "job2", ResultOf("2", 2));
  }
  TestNode& a = Start("a");
  EXPECT_THAT(AllStudies(a), IsEmpty());
  TestNode& b = Start("b");
  EXPECT_THAT(AllStudies(b), ElementsAre("1.2.1", "1.2.2"));
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1", "1.2.2"));
  EXPECT_EQ(b.index->waiting(), 0);
}

TEST_F(PublicationTest, AnIndexThatIsLostIsMadeAnew) {
  TestNode& a = Start("a");
  Store(a, "job1", ResultOf("1", 2));
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1"));
  Stop("a");
  Run("DROP SCHEMA isocenter CASCADE");
  EXPECT_THAT(AllStudies(Start("a")), ElementsAre("1.2.1"));
  // Only the node's own row.
  Stop("a");
  Run("UPDATE isocenter.nodes SET generation = 'another'");
  Run("DELETE FROM isocenter.instances");
  EXPECT_THAT(AllStudies(Start("a")), ElementsAre("1.2.1"));
  EXPECT_EQ(Run("SELECT COUNT(*) FROM isocenter.instances"), "2");
}

TEST_F(PublicationTest, AnArchiveThatWasReplacedLeavesNothingOfTheOldOne) {
  TestNode& a = Start("a");
  Store(a, "job1", ResultOf("1", 2));
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1"));
  Stop("a");
  std::filesystem::remove_all(ArchiveOf("a"));
  EXPECT_THAT(AllStudies(Start("a")), IsEmpty());
  EXPECT_EQ(Run("SELECT COUNT(*) FROM isocenter.patients"), "0");
}

TEST_F(PublicationTest, ChangesWithoutTheSharedIndexAreFoundOut) {
  TestNode& a = Start("a");
  Store(a, "job1", ResultOf("1", 2));
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1"));
  Stop("a");
  {
    TestNode alone{.archive = *archive::Archive::Open(ArchiveOf("a"))};
    ASSERT_TRUE(alone.archive->changes().Forget().ok());  // as a start without the configuration
    ASSERT_TRUE(alone.archive->Delete("job1").ok());
    Store(alone, "job2", ResultOf("2", 1));
    EXPECT_EQ(*alone.archive->changes().Count(), 0);
  }
  EXPECT_THAT(AllStudies(Start("a")), ElementsAre("1.2.2"));
}

TEST_F(PublicationTest, ACopyOfAnotherNodeOutlivesAResult) {
  TestNode& a = Start("a");
  TestNode& b = Start("b");
  Store(a, "job1", ResultOf("1", 3));
  Store(b, "job1", ResultOf("1", 3));
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1"));
  EXPECT_THAT(AllStudies(b), ElementsAre("1.2.1"));
  EXPECT_EQ(Run("SELECT COUNT(*) FROM isocenter.series"), "2");
  ASSERT_TRUE(a.archive->Delete("job1").ok());
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1"));
  EXPECT_EQ(Run("SELECT string_agg(node, '') FROM isocenter.series"), "b");
}

TEST_F(PublicationTest, TheLatestAttributesStandInWhateverOrderNodesTell) {
  TestNode& a = Start("a");
  archive::Result older = ResultOf("1", 1);
  older.patient.name = "Older^Name";
  older.study.description = "older";
  Store(a, "job1", older);
  AllStudies(a);
  TestNode& b = Start("b");
  archive::Result newer = ResultOf("1", 1);
  newer.patient.name = "Newer^Name";
  newer.study.description = "newer";
  newer.series.instance_uid = "1.2.1.2";
  newer.instances[0].sop_instance_uid = "1.2.1.2.1";
  Store(b, "job2", newer);
  AllStudies(b);
  Stop("a");
  Run("UPDATE isocenter.nodes SET generation = '' WHERE node = 'a'");
  TestNode& again = Start("a");
  AllStudies(again);
  archive::Gap gap;
  const auto rows = again.catalog().FindStudies({}, gap);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1);
  EXPECT_EQ((*rows)[0].patient.name, "Newer^Name");
  EXPECT_EQ((*rows)[0].study.description, "newer");
  EXPECT_EQ((*rows)[0].series_count, 2);
  EXPECT_THAT(Studies(again, gap, {.patient_names = {{"older", true}}}), IsEmpty());
}

TEST_F(PublicationTest, TablesOfANewerVersionAreRefused) {
  Start("a");
  AllStudies(nodes_["a"]);
  Stop("a");
  Run("UPDATE isocenter.schema_version SET version = 2");
  auto archive = archive::Archive::Open(ArchiveOf("a"));
  const auto index = ClusterIndex::Start(OptionsOf("a"), **archive);
  EXPECT_EQ(index.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(index.status().message()), ::testing::HasSubstr("schema version 2"));
}

TEST_F(PublicationTest, TwoProcessesOfOneNameDoNotWriteOverEachOther) {
  TestNode& a = Start("a");
  Store(a, "job1", ResultOf("1", 2));
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1"));
  auto archive = archive::Archive::Open(directory_.path() / "second");
  TestNode second{.archive = *std::move(archive)};
  second.index = *ClusterIndex::Start(OptionsOf("a"), *second.archive);
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_FALSE(second.index->is_up());
  EXPECT_THAT(AllStudies(a), ElementsAre("1.2.1"));
}

}  // namespace
}  // namespace isocenter::cluster_index
