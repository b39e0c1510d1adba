// Archives of earlier versions, opened by this one.
#include "server/archive/schema.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/archive/archive.h"
#include "server/archive/database.h"
#include "tests/server/archive/temporary_directory.h"

namespace isocenter::archive {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two jobs of one patient in two studies, as version 2 kept them: one series for each job.
constexpr char kRows[] = R"sql(
INSERT INTO jobs VALUES ('one', 'completed', 1, '{"id": "one", "state": "completed"}');
INSERT INTO jobs VALUES ('two', 'completed', 2, '{"id": "two", "state": "completed"}');
INSERT INTO traces VALUES ('one', 'the trace');
INSERT INTO patients VALUES (7, 'id:P1', 'P1', 'Yamada^Tarou=山田^太郎=やまだ^ ', '19700203', 'F');
INSERT INTO studies VALUES (3, 7, '1.1', '20260102', '030405', 'A1', 'S1', 'Head', 'House^G');
INSERT INTO studies VALUES (4, 7, '1.2', '20260103', '030405', 'A2', 'S2', 'Head', 'House^G');
INSERT INTO series VALUES (5, 3, 'one', '1.1.1', 1, 'CT', '20260102', '030405', 'Cone-beam CT',
  'HEAD', 'fdk', 'room-1', 'Isocenter', '1.9', 'one.dir', 'volume.f32', 8, 2);
INSERT INTO series VALUES (6, 4, 'two', '1.2.1', 1, 'CT', '20260103', '030405', 'Cone-beam CT',
  'HEAD', 'fdk', 'room-1', 'Isocenter', '1.9', 'two.dir', 'volume.f32', 8, 1);
INSERT INTO instances VALUES (5, 0, '1.1.1.1', '1.2.840.10008.5.1.4.1.1.2', 1, 10, 20, 'a.dcm');
INSERT INTO instances VALUES (5, 1, '1.1.1.2', '1.2.840.10008.5.1.4.1.1.2', 2, 10, 20, 'b.dcm');
INSERT INTO instances VALUES (6, 0, '1.2.1.1', '1.2.840.10008.5.1.4.1.1.2', 1, 10, 20, 'a.dcm');
)sql";

class SchemaTest : public ::testing::Test {
 protected:
  fs::path root() const { return directory_.path() / "archive"; }
  /// Makes the archive of a version, with rows and their files.
  void MakeArchive(size_t version, const char* rows) {
    fs::create_directories(root() / "staging");
    for (const auto& [name, files] : {std::pair("one.dir", std::vector{"a.dcm", "b.dcm"}),
                                      std::pair("two.dir", std::vector{"a.dcm"})}) {
      fs::create_directories(root() / "results" / name);
      for (const char* file : files) std::ofstream(root() / "results" / name / file) << file;
      std::ofstream(root() / "results" / name / "volume.f32") << "12345678";
    }
    auto database = Database::Open(root() / "index.sqlite");
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE(database->Migrate(SchemaMigrations().first(version)).ok());
    const absl::Status inserted = database->ExecuteScript(rows);
    ASSERT_TRUE(inserted.ok()) << inserted;
  }
  void Open() {
    auto archive = Archive::Open(root());
    ASSERT_TRUE(archive.ok()) << archive.status();
    archive_ = *std::move(archive);
  }
  /// What a query of one number gives, with the archive closed.
  int64_t Integer(const std::string& sql) {
    archive_.reset();
    auto database = Database::Open(root() / "index.sqlite");
    EXPECT_TRUE(database.ok()) << database.status();
    int64_t value = -1;
    EXPECT_TRUE(database->Query(sql, {}, [&](const Row& row) { value = row.Integer(0); }).ok());
    return value;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Archive> archive_;
};

TEST_F(SchemaTest, Version2KeepsAllThatItHeld) {
  MakeArchive(2, kRows);
  Open();
  EXPECT_THAT(archive_->repairs(), IsEmpty());
  EXPECT_THAT(archive_->LoadAll()->jobs, SizeIs(2));
  EXPECT_EQ(*archive_->LoadTrace("one"), "the trace");
  const auto series = *archive_->FindSeries({});
  ASSERT_THAT(series, SizeIs(2));
  EXPECT_EQ(series[0].job_id, "one");
  EXPECT_EQ(series[0].instance_count, 2);
  EXPECT_EQ(series[0].series.instance_uid, "1.1.1");
  EXPECT_EQ(series[0].series.description, "Cone-beam CT");
  EXPECT_EQ(series[0].series.manufacturer, "Isocenter");
  EXPECT_EQ(series[0].series.frame_of_reference_uid, "1.9");
  EXPECT_EQ(series[0].series.requested_procedure_id, "");
  EXPECT_EQ(series[0].study.accession_number, "A1");
  const auto instances = *archive_->FindInstances("1.1.1");
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(instances[1].instance.sop_instance_uid, "1.1.1.2");
  EXPECT_EQ(instances[1].instance.columns, 20);
  EXPECT_TRUE(fs::exists(instances[1].file));
  EXPECT_EQ(fs::file_size(archive_->FilesOf("two")->raw), 8u);
  EXPECT_THAT(*archive_->transfers().List({}, 10), IsEmpty());
  EXPECT_EQ(Integer("SELECT COUNT(*) FROM pragma_foreign_key_check"), 0);
}

TEST_F(SchemaTest, NamesOfVersion2AreFoundInAllTheirGroups) {
  MakeArchive(2, kRows);
  Open();
  for (const char* name : {"yamada^tarou", "山田^太郎", "やまだ"}) {
    EXPECT_THAT(*archive_->FindPatients({.patient_names = {{.text = name}}}), SizeIs(1)) << name;
  }
  EXPECT_THAT(*archive_->FindPatients({.patient_names = {{.text = "tarou"}}}), IsEmpty());
}

TEST_F(SchemaTest, ResultsOfVersion2AreReplacedByThoseWithSeveralSeries) {
  MakeArchive(2, kRows);
  Open();
  auto staging = archive_->Stage("one", 0);
  ASSERT_TRUE(staging.ok()) << staging.status();
  Result result;
  result.patient = {"P1", "Yamada^Tarou", "19700203", "F"};
  result.study = {.instance_uid = "1.1", .date = "20260102"};
  result.series = {.instance_uid = "1.1.1", .modality = "CT", .number = 1};
  result.instances = {{.sop_instance_uid = "1.1.1.1", .number = 1, .file_name = "ct.dcm"}};
  result.further_series = {
      {.series = {.instance_uid = "1.1.2", .modality = "XA", .number = 2},
       .instances = {{.sop_instance_uid = "1.1.2.1", .number = 1, .file_name = "xa.dcm"}}}};
  result.raw_file_name = "raw";
  for (const char* file : {"ct.dcm", "xa.dcm", "raw"}) {
    std::ofstream(staging->directory() / file) << "";
  }
  const absl::Status committed = archive_->Commit(*std::move(staging), result);
  ASSERT_TRUE(committed.ok()) << committed;
  std::vector<std::string> found;
  const auto series = archive_->FindSeries({.study_uids = {"1.1"}});
  for (const SeriesRow& row : *series) found.push_back(row.series.instance_uid);
  EXPECT_THAT(found, ElementsAre("1.1.1", "1.1.2"));
  // Instances still go with their series.
  ASSERT_TRUE(archive_->Delete("two").ok());
  EXPECT_EQ(Integer("SELECT COUNT(*) FROM instances"), 2);
}

}  // namespace
}  // namespace isocenter::archive
