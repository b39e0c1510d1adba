// What nodes read out of the shared index: the same as of their own, of all of them.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/server/cluster_index/cluster_fixture.h"

namespace isocenter::cluster_index {
namespace {

using archive::Field;
using archive::ListingLevel;
using archive::ListingRequest;
using archive::Selection;
using archive::TextTerm;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Rows = std::vector<std::vector<std::string>>;

/// One node whose own index has the same as the shared one.
class SameAnswersTest : public ClusterTest {
 protected:
  void SetUp() override {
    TestNode& a = Start("a");
    const char* const names[] = {"M\xc3\xbcller^J\xc3\xbcrgen",
                                 "MULLER^Anna",
                                 "Yamada^Tarou=\xe5\xb1\xb1\xe7\x94\xb0^\xe5\xa4\xaa\xe9\x83\x8e",
                                 "yamada^Hanako",
                                 "",
                                 "O'Neil^\"Q\"",
                                 "a%b_c\\d^x",
                                 "\xf4\x8f\xbf\xbf^Last"};
    for (int i = 0; i < 24; ++i) {
      archive::Result result = ResultOf(absl::StrCat(i), 1 + i % 3);
      result.patient.id = i % 8 == 4 ? "" : absl::StrCat("P", i % 8, i % 2 == 0 ? "x" : "X");
      result.patient.name = names[i % 8];
      result.study.date = i % 5 == 0 ? "" : absl::StrCat("2026010", i % 5);
      result.study.time = absl::StrCat("10", 10 + i);
      result.study.accession_number = i % 3 == 0 ? "" : absl::StrCat("ACC", i / 2);
      result.series.requested_procedure_id = i % 4 == 0 ? absl::StrCat("RP", i) : "";
      result.series.scheduled_step_id = i % 4 == 1 ? "SPS" : "";
      archive::Instance other = result.instances[0];
      other.sop_instance_uid += ".9";
      other.file_name = "dicom/volume.dcm";
      result.further_series.push_back(
          {.series = {.instance_uid = absl::StrCat("1.2.", i, ".2"), .modality = "XA", .number = 2},
           .instances = {other}});
      Store(a, absl::StrCat("job", i), result);
    }
    AllStudies(a);
    selections_ = {
        {},
        {.study_uids = {"1.2.3", "1.2.30", "1.2.4"}},
        {.series_uids = {"1.2.5.1", "1.2.6.2"}},
        {.first_study_date = "20260102"},
        {.last_study_date = "20260102"},
        {.first_study_date = "20260102", .last_study_date = "20260103"},
        {.sop_instance_uids = {"1.2.7.1.1", "1.2.8.1.1.9"}},
        {.patient_ids = {{"P0x", false}, {"p0x", false}}},
        {.patient_ids = {{"P", true}}},
        {.accession_numbers = {{"ACC1", true}}},
        {.accession_numbers = {{"ACC1", false}, {"ACC5", true}}},
        {.requested_procedure_ids = {{"RP", true}}},
        {.scheduled_step_ids = {{"SPS", false}}},
        {.patient_names = {{"m\xc3\xbc", true}}},
        {.patient_names = {{"muller", true}}},
        {.patient_names = {{"yamada", true}}},
        {.patient_names = {{"\xe5\xb1\xb1", true}}},
        {.patient_names = {{"a%", true}}},
        {.patient_names = {{"a_", true}}},
        {.patient_names = {{"o'neil", true}, {"\xf4\x8f\xbf\xbf^", true}}},
        {.patient_names = {{"\xf4\x8f\xbf\xbf", true}}},
        {.patient_names = {{std::string("ya\0mada", 7), true}}},
        {.patient_names = {{"\xff\xfe", true}}},
        {.study_uids = {"1.2.3"},
         .patient_ids = {{"P3X", false}},
         .patient_names = {{"yam", true}}},
    };
  }

  std::vector<Selection> selections_;
};

std::string Text(const archive::Patient& p) {
  return absl::StrJoin({p.id, p.name, p.birth_date, p.sex}, "|");
}
std::string Text(const archive::Study& s) {
  return absl::StrJoin({s.instance_uid, s.date, s.time, s.accession_number, s.id, s.description,
                        s.referring_physician_name},
                       "|");
}
std::string Text(const archive::PatientRow& row) {
  return absl::StrCat(Text(row.patient), "|", row.study_count, "|", row.series_count, "|",
                      row.instance_count);
}
std::string Text(const archive::StudyRow& row) {
  const std::set<std::string> modalities(row.modalities.begin(), row.modalities.end());
  return absl::StrCat(Text(row.patient), "|", Text(row.study), "|", absl::StrJoin(modalities, ","),
                      "|", row.series_count, "|", row.instance_count);
}
std::string Text(const archive::SeriesRow& row) {
  const archive::Series& r = row.series;
  return absl::StrCat(Text(row.patient), "|", Text(row.study), "|", r.instance_uid, "|", r.modality,
                      "|", r.number, "|", r.requested_procedure_id, "|", r.scheduled_step_id, "|",
                      row.job_id, "|", row.instance_count);
}
std::string Text(const archive::InstanceRow& row) {
  const archive::Instance& i = row.instance;
  return absl::StrCat(i.sop_instance_uid, "|", i.sop_class_uid, "|", i.number, "|", i.rows, "|",
                      i.columns, "|", i.file_name, "|", row.node, "|", row.file.string());
}
template <class Answer>
std::vector<std::string> Texts(const absl::StatusOr<std::vector<Answer>>& rows) {
  EXPECT_TRUE(rows.ok()) << rows.status();
  std::vector<std::string> texts;
  if (rows.ok()) {
    for (const Answer& row : *rows) texts.push_back(Text(row));
  }
  return texts;
}

TEST_F(SameAnswersTest, ToQueriesOfEachLevel) {
  TestNode& a = nodes_["a"];
  size_t found = 0;
  for (size_t i = 0; i < selections_.size(); ++i) {
    SCOPED_TRACE(i);
    archive::Gap gap;
    // Patients without an id are in no order that anybody promises.
    auto patients = Texts(a.catalog().FindPatients(selections_[i], gap));
    auto own_patients = Texts(a.archive->FindPatients(selections_[i]));
    std::ranges::sort(patients);
    std::ranges::sort(own_patients);
    EXPECT_EQ(patients, own_patients);
    const auto studies = Texts(a.catalog().FindStudies(selections_[i], gap));
    EXPECT_EQ(studies, Texts(a.archive->FindStudies(selections_[i])));
    EXPECT_EQ(Texts(a.catalog().FindSeries(selections_[i], gap)),
              Texts(a.archive->FindSeries(selections_[i])));
    EXPECT_EQ(gap, "");
    found += studies.size();
  }
  EXPECT_GT(found, 60u);  // the selections are not all empty
  archive::Gap gap;
  for (const char* series : {"1.2.2.1", "1.2.2.2", "1.2.99"}) {
    EXPECT_EQ(Texts(a.catalog().FindInstances(series, archive::Purpose::kRetrieval, gap)),
              Texts(a.archive->FindInstances(series)));
  }
}

TEST_F(SameAnswersTest, ToListingsOfEachLevelPageByPage) {
  TestNode& a = nodes_["a"];
  const auto sorted = [](Rows rows, const std::vector<Field>& fields) {
    for (auto& row : rows) {
      for (size_t i = 0; i < fields.size(); ++i) {
        if (fields[i] != Field::kModalitiesInStudy) continue;
        std::vector<std::string> each = absl::StrSplit(row[i], ',');
        std::ranges::sort(each);
        row[i] = absl::StrJoin(each, ",");
      }
    }
    return rows;
  };
  std::vector<Field> fields = {
      Field::kPatientName,       Field::kPatientId,     Field::kStudyUid,        Field::kStudyDate,
      Field::kModalitiesInStudy, Field::kSeriesInStudy, Field::kInstancesInStudy};
  size_t found = 0;
  for (const ListingLevel level :
       {ListingLevel::kStudy, ListingLevel::kSeries, ListingLevel::kInstance}) {
    if (level == ListingLevel::kSeries) {
      fields.insert(fields.end(), {Field::kSeriesUid, Field::kModality, Field::kInstancesInSeries});
    }
    if (level == ListingLevel::kInstance) {
      fields.insert(fields.end(),
                    {Field::kSopInstanceUid, Field::kRows, Field::kFile, Field::kNode});
    }
    for (const Selection& selection : selections_) {
      for (const bool with_condition : {false, true}) {
        for (const int offset : {0, 3}) {
          ListingRequest request{.level = level,
                                 .selection = selection,
                                 .fields = fields,
                                 .offset = offset,
                                 .limit = 10};
          if (with_condition) {
            request.conditions.push_back({Field::kStudyTime, [](absl::string_view time) {
                                            return !time.empty() && (time.back() - '0') % 2 == 0;
                                          }});
          }
          Rows shared, own;
          archive::Gap gap;
          ASSERT_TRUE(a.catalog()
                          .FindRows(
                              request, [&](const auto& row) { shared.push_back(row); }, gap)
                          .ok());
          ASSERT_TRUE(a.archive->listing()
                          .Find(request, [&](const auto& row) { own.push_back(row); })
                          .ok());
          EXPECT_EQ(sorted(shared, fields), sorted(own, fields));
          EXPECT_EQ(gap, "");
          found += own.size();
        }
      }
    }
  }
  EXPECT_GT(found, 500u);
}

using CatalogTest = ClusterTest;

TEST_F(CatalogTest, EachNodeFindsAndReadsWhatAnyHas) {
  TestNode& a = Start("a");
  TestNode& b = Start("b");
  Store(a, "job1", ResultOf("1", 2));
  Store(b, "job2", ResultOf("2", 2));
  AllStudies(a);
  AllStudies(b);
  for (TestNode* node : {&a, &b}) {
    EXPECT_THAT(AllStudies(*node), ElementsAre("1.2.1", "1.2.2"));
    for (const char* series : {"1.2.1.1", "1.2.2.1"}) {
      archive::Gap gap;
      const auto rows = node->catalog().FindInstances(series, archive::Purpose::kRetrieval, gap);
      ASSERT_TRUE(rows.ok()) << rows.status();
      ASSERT_EQ(rows->size(), 2u);
      for (const archive::InstanceRow& row : *rows) {
        const bool is_own = (node == &a) == (std::string(series) == "1.2.1.1");
        EXPECT_EQ(row.node, is_own ? "" : node == &a ? "b" : "a");
        EXPECT_TRUE(is_own || node->catalog().CheckFile(row.node, row.file).ok());
        std::string contents;
        std::ifstream(row.file) >> contents;
        EXPECT_EQ(contents, row.instance.sop_instance_uid);
      }
    }
  }
}

TEST_F(CatalogTest, CopiesOfAFailoverCountOnceAndTheNearestIsRead) {
  TestNode& a = Start("a");
  TestNode& b = Start("b");
  for (TestNode* node : {&a, &b}) Store(*node, "job1", ResultOf("1", 3));
  AllStudies(a);
  AllStudies(b);
  TestNode& c = Start("c");
  for (TestNode* node : {&a, &b, &c}) {
    archive::Gap gap;
    const auto studies = node->catalog().FindStudies({}, gap);
    ASSERT_TRUE(studies.ok()) << studies.status();
    ASSERT_EQ(studies->size(), 1u);
    EXPECT_EQ((*studies)[0].series_count, 1);
    EXPECT_EQ((*studies)[0].instance_count, 3);
    const auto instances =
        node->catalog().FindInstances("1.2.1.1", archive::Purpose::kRetrieval, gap);
    ASSERT_TRUE(instances.ok()) << instances.status();
    ASSERT_EQ(instances->size(), 3u);
    EXPECT_EQ((*instances)[0].node, node == &c ? "a" : "");
  }
  // Where the archive of the first is not seen, the other's is read.
  std::filesystem::rename(ArchiveOf("a"), ArchiveOf("away"));
  archive::Gap gap;
  const auto instances = c.catalog().FindInstances("1.2.1.1", archive::Purpose::kRetrieval, gap);
  ASSERT_TRUE(instances.ok()) << instances.status();
  EXPECT_EQ((*instances)[0].node, "b");
  EXPECT_TRUE(c.catalog().CheckFile("b", (*instances)[0].file).ok());
  std::filesystem::rename(ArchiveOf("away"), ArchiveOf("a"));
}

TEST_F(CatalogTest, WhatIsNotMountedIsFoundAndItsNodeNamed) {
  TestNode& a = Start("a");
  Store(a, "job1", ResultOf("1", 1));
  AllStudies(a);
  ClusterIndexOptions options = OptionsOf("b");
  for (const char* archives : {"", "/nowhere/{node}"}) {
    options.archives = archives;
    TestNode& b = StartWith(options);
    EXPECT_THAT(AllStudies(b), ElementsAre("1.2.1"));
    archive::Gap gap;
    const auto rows = b.catalog().FindInstances("1.2.1.1", archive::Purpose::kRetrieval, gap);
    ASSERT_TRUE(rows.ok()) << rows.status();
    ASSERT_EQ(rows->size(), 1u);
    EXPECT_EQ((*rows)[0].node, "a");
    const absl::Status readable = b.catalog().CheckFile("a", (*rows)[0].file);
    EXPECT_EQ(readable, absl::UnavailableError("node a: its archive is not mounted here"));
  }
}

TEST_F(CatalogTest, WhileANodeTellsAllAnswersSayThatTheyLackIt) {
  TestNode& a = Start("a");
  Start("b");
  AllStudies(nodes_["b"]);
  Run("UPDATE isocenter.nodes SET is_complete = false WHERE node = 'b'");
  archive::Gap gap;
  EXPECT_THAT(Studies(a, gap), IsEmpty());
  EXPECT_EQ(gap, "not all of node b is in the shared index yet");
}

TEST_F(CatalogTest, ANodeThatIsNoneOfTheClustersIsNotSeen) {
  TestNode& a = Start("a");
  Store(a, "job1", ResultOf("1", 1));
  AllStudies(a);
  // It would be the first by name.
  Run("INSERT INTO isocenter.series (study_key, node, job_id, instance_uid, number, modality, "
      "date, "
      "time, description, body_part_examined, protocol_name, station_name, manufacturer, "
      "frame_of_reference_uid, directory, instance_count, requested_procedure_id, "
      "scheduled_step_id) SELECT study_key, '0', job_id, instance_uid, number, modality, date, "
      "time, description, body_part_examined, protocol_name, station_name, manufacturer, "
      "frame_of_reference_uid, directory, 99, requested_procedure_id, scheduled_step_id "
      "FROM isocenter.series");
  archive::Gap gap;
  const auto rows = a.catalog().FindStudies({}, gap);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].instance_count, 1);
  Run("DELETE FROM isocenter.series WHERE node = 'a'");
  EXPECT_THAT(Studies(a, gap), IsEmpty());
  Rows listed;
  ListingRequest request{.fields = {Field::kStudyUid}, .limit = 10};
  ASSERT_TRUE(a.catalog()
                  .FindRows(
                      request, [&](const auto& row) { listed.push_back(row); }, gap)
                  .ok());
  EXPECT_THAT(listed, IsEmpty());
}

}  // namespace
}  // namespace isocenter::cluster_index
