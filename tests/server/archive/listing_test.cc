// Pages of what is stored.
#include "server/archive/listing.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/archive/archive.h"
#include "tests/server/archive/temporary_directory.h"

namespace isocenter::archive {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Rows = std::vector<std::vector<std::string>>;

class ListingTest : public ::testing::Test {
 protected:
  ListingTest() { archive_ = *Archive::Open(directory_.path() / "archive"); }
  /// A study of one patient, with a series of so many instances in each of two forms.
  void Store(const std::string& uid, const std::string& date, int instances) {
    Result result;
    result.patient = {absl::StrCat("P", uid), absl::StrCat("Name", uid), "19700203", "F"};
    result.study = {.instance_uid = uid, .date = date, .time = "101112"};
    result.series = {.instance_uid = uid + ".2", .modality = "CT", .number = 2};
    result.further_series.push_back(
        {.series = {.instance_uid = uid + ".1", .modality = "XA", .number = 1}});
    for (int i = 0; i < instances; ++i) {
      const std::string name = absl::StrCat(i, ".dcm");
      result.instances.push_back({.sop_instance_uid = absl::StrCat(uid, ".2.", i),
                                  .number = i + 1,
                                  .rows = 7,
                                  .file_name = name});
      result.further_series[0].instances.push_back(
          {.sop_instance_uid = absl::StrCat(uid, ".1.", i), .number = i + 1, .file_name = name});
    }
    auto staging = archive_->Stage("job" + uid, 0);
    ASSERT_TRUE(staging.ok()) << staging.status();
    staged_ = staging->directory().filename();
    const absl::Status stored = archive_->Commit(*std::move(staging), result);
    ASSERT_TRUE(stored.ok()) << stored;
  }
  Rows Find(const ListingRequest& request) {
    Rows rows;
    const absl::Status status =
        archive_->listing().Find(request, [&](const auto& row) { rows.push_back(row); });
    EXPECT_TRUE(status.ok()) << status;
    return rows;
  }
  /// The values of one field.
  std::vector<std::string> Values(ListingRequest request, Field field) {
    request.fields = {field};
    std::vector<std::string> values;
    for (const auto& row : Find(request)) values.push_back(row[0]);
    return values;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Archive> archive_;
  std::filesystem::path staged_;
};

TEST_F(ListingTest, NewestFirstThenByNumberThenInSliceOrder) {
  Store("1.1", "20260101", 2);
  Store("1.2", "20260103", 1);
  Store("1.3", "20260102", 1);
  EXPECT_THAT(Values({.limit = 10}, Field::kStudyUid), ElementsAre("1.2", "1.3", "1.1"));
  EXPECT_THAT(Values({.level = ListingLevel::kSeries, .limit = 10}, Field::kSeriesUid),
              ElementsAre("1.2.1", "1.2.2", "1.3.1", "1.3.2", "1.1.1", "1.1.2"));
  EXPECT_THAT(
      Values({.level = ListingLevel::kInstance, .selection = {.study_uids = {"1.1"}}, .limit = 10},
             Field::kSopInstanceUid),
      ElementsAre("1.1.1.0", "1.1.1.1", "1.1.2.0", "1.1.2.1"));
}

TEST_F(ListingTest, PagesAreCutOutOfThatOrder) {
  for (int i = 0; i < 9; ++i) Store(absl::StrCat("1.", i), absl::StrCat("2026010", i + 1), 3);
  for (const ListingLevel level :
       {ListingLevel::kStudy, ListingLevel::kSeries, ListingLevel::kInstance}) {
    ListingRequest request{.level = level, .fields = {Field::kStudyUid}, .limit = 1000};
    if (level >= ListingLevel::kSeries) request.fields.push_back(Field::kSeriesUid);
    if (level >= ListingLevel::kInstance) request.fields.push_back(Field::kSopInstanceUid);
    const Rows all = Find(request);
    Rows pages;
    for (request.limit = 4; request.offset < 100; request.offset += 4) {
      for (const auto& row : Find(request)) pages.push_back(row);
    }
    EXPECT_EQ(pages, all);
    EXPECT_THAT(all, SizeIs(level == ListingLevel::kStudy    ? 9
                            : level == ListingLevel::kSeries ? 18
                                                             : 54));
  }
}

TEST_F(ListingTest, SelectionsAndConditionsHoldTogether) {
  Store("1.1", "20260101", 2);
  Store("1.2", "20260102", 2);
  const FieldCondition is_ct{Field::kModality,
                             [](absl::string_view value) { return value == "CT"; }};
  EXPECT_THAT(Values({.level = ListingLevel::kSeries,
                      .selection = {.patient_ids = {{.text = "P1.2"}}},
                      .conditions = {is_ct},
                      .limit = 10},
                     Field::kSeriesUid),
              ElementsAre("1.2.2"));
  // Conditions are asked before a page is cut.
  EXPECT_THAT(Values({.level = ListingLevel::kInstance,
                      .conditions = {is_ct,
                                     {Field::kPatientName,
                                      [](absl::string_view value) { return value != "Name1.2"; }}},
                      .offset = 1,
                      .limit = 10},
                     Field::kSopInstanceUid),
              ElementsAre("1.1.2.1"));
  EXPECT_THAT(Values({.level = ListingLevel::kInstance,
                      .selection = {.series_uids = {"1.1.1"}, .sop_instance_uids = {"1.1.1.1"}},
                      .limit = 10},
                     Field::kSopInstanceUid),
              ElementsAre("1.1.1.1"));
  EXPECT_THAT(Values({.level = ListingLevel::kInstance,
                      .selection = {.study_uids = {"1.2"}, .sop_instance_uids = {"1.1.1.1"}},
                      .limit = 10},
                     Field::kSopInstanceUid),
              IsEmpty());
}

TEST_F(ListingTest, FieldsOfAllLevels) {
  Store("1.1", "20260101", 3);
  const Rows rows = Find(
      {.level = ListingLevel::kInstance,
       .selection = {.sop_instance_uids = {"1.1.2.1"}},
       .fields = {Field::kPatientName, Field::kModalitiesInStudy, Field::kSeriesInStudy,
                  Field::kInstancesInStudy, Field::kInstancesInSeries, Field::kRows, Field::kFile},
       .limit = 1});
  const std::string file = directory_.path() / "archive" / "results" / staged_ / "1.dcm";
  EXPECT_THAT(rows, ElementsAre(ElementsAre("Name1.1", "XA,CT", "2", "6", "3", "7", file)));
}

TEST_F(ListingTest, EveryPageOfInstancesIsAPartOfTheWhole) {
  Store("1.1", "20260101", 3);
  Store("1.2", "20260103", 1);
  Store("1.3", "20260102", 4);
  // With a condition on instances they are walked one by one, else series by series.
  const FieldCondition any = {Field::kSopClassUid, [](absl::string_view) { return true; }};
  const FieldCondition one_form = {Field::kModality,
                                   [](absl::string_view value) { return value == "XA"; }};
  for (const auto& conditions :
       {std::vector<FieldCondition>(), {one_form}, {any}, {any, one_form}}) {
    ListingRequest request{.level = ListingLevel::kInstance, .conditions = conditions};
    request.limit = 100;
    const std::vector<std::string> all = Values(request, Field::kSopInstanceUid);
    const bool of_one_form = !conditions.empty() && conditions.back().field == Field::kModality;
    EXPECT_THAT(all, SizeIs(of_one_form ? 8 : 16));
    for (int64_t offset = 0; offset <= static_cast<int64_t>(all.size()) + 1; ++offset) {
      for (const int64_t limit : {1, 2, 5}) {
        request.offset = offset;
        request.limit = limit;
        const auto first = std::min<int64_t>(offset, all.size());
        const auto last = std::min<int64_t>(offset + limit, all.size());
        EXPECT_EQ(Values(request, Field::kSopInstanceUid),
                  std::vector(all.begin() + first, all.begin() + last))
            << offset << " " << limit;
      }
    }
  }
}

TEST_F(ListingTest, FieldsBelowTheLevelAreRefused) {
  const auto ignored = [](const std::vector<std::string>&) {};
  EXPECT_TRUE(absl::IsInvalidArgument(
      archive_->listing().Find({.fields = {Field::kModality}, .limit = 1}, ignored)));
  EXPECT_TRUE(absl::IsInvalidArgument(archive_->listing().Find(
      {.conditions = {{Field::kRows, [](absl::string_view) { return true; }}},
       .fields = {Field::kStudyUid},
       .limit = 1},
      ignored)));
}

}  // namespace
}  // namespace isocenter::archive
