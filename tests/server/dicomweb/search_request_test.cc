#include "server/dicomweb/search_request.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicom/scp/query_attributes.h"

namespace isocenter::dicomweb {
namespace {

using dicom::Level;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Parameters = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<SearchRequest> Parse(const Parameters& parameters, Level level = Level::kStudy,
                                    const ObjectPath& within = {}) {
  http::Request request;
  request.query = parameters;
  return ParseSearch(level, within, request);
}

std::string Refusal(const Parameters& parameters, Level level = Level::kStudy) {
  const auto search = Parse(parameters, level);
  EXPECT_TRUE(absl::IsInvalidArgument(search.status())) << search.status();
  return std::string(search.status().message());
}

std::vector<std::string> Keywords(const SearchRequest& search) {
  std::vector<std::string> keywords;
  for (const SearchAttribute* attribute : search.returned)
    keywords.emplace_back(attribute->keyword);
  return keywords;
}

TEST(SearchRequestTest, KeywordsAndTagsAreTheSame) {
  for (const char* name : {"PatientID", "00100020"}) {
    const auto search = Parse({{name, "PAT-1"}});
    ASSERT_TRUE(search.ok()) << search.status();
    EXPECT_EQ(search->keys.at(dicom::kPatientId), "PAT-1");
  }
  for (const char* name : {"RequestAttributesSequence.RequestedProcedureID", "00400275.00401001"}) {
    const auto search = Parse({{name, "RP"}}, Level::kSeries);
    ASSERT_TRUE(search.ok()) << search.status();
    EXPECT_EQ(search->keys.at(dicom::InSequence(dicom::kRequestAttributesSequence,
                                                dicom::kRequestedProcedureId)),
              "RP");
  }
  EXPECT_TRUE(Parse({{"0008103E", "x"}}, Level::kSeries).ok());
  EXPECT_TRUE(Parse({{"0008103e", "x"}}, Level::kSeries).ok());
}

TEST(SearchRequestTest, ListsOfUids) {
  EXPECT_EQ(Parse({{"StudyInstanceUID", "1.2,3.4"}})->keys.at(dicom::kStudyInstanceUid),
            "1.2\\3.4");
  EXPECT_EQ(Parse({{"StudyInstanceUID", "1.2\\3.4"}})->keys.at(dicom::kStudyInstanceUid),
            "1.2\\3.4");
  // A comma is part of a name.
  EXPECT_EQ(Parse({{"PatientName", "Doe, Jane"}})->keys.at(dicom::kPatientName), "Doe, Jane");
}

TEST(SearchRequestTest, AHundredThousandUidsAreRefused) {
  std::string list = "1.2";
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&list, ",1.2.", i);
  EXPECT_THAT(Refusal({{"StudyInstanceUID", list}}),
              HasSubstr("StudyInstanceUID is '100001 values'; legal are 1000"));
}

TEST(SearchRequestTest, PathsAreKeys) {
  const auto search = Parse({}, Level::kImage, {.study = "1.2", .series = "3.4"});
  ASSERT_TRUE(search.ok()) << search.status();
  EXPECT_EQ(search->keys.at(dicom::kStudyInstanceUid), "1.2");
  EXPECT_EQ(search->keys.at(dicom::kSeriesInstanceUid), "3.4");
  const auto other = Parse({{"StudyInstanceUID", "9"}}, Level::kSeries, {.study = "1.2"});
  EXPECT_TRUE(absl::IsInvalidArgument(other.status())) << other.status();
}

TEST(SearchRequestTest, ValuesThatAreNotLegal) {
  for (const auto& [name, value] : Parameters{{"StudyInstanceUID", "abc"},
                                              {"StudyInstanceUID", "1.2,x"},
                                              {"StudyInstanceUID", "*"},
                                              {"StudyInstanceUID", std::string(65, '1')},
                                              {"StudyInstanceUID", "1..2"},
                                              {"StudyInstanceUID", ".1"},
                                              {"StudyDate", "2026"},
                                              {"StudyDate", "20260101-2026"},
                                              {"StudyDate", "-"},
                                              {"StudyTime", "noon"},
                                              {"limit", "0"},
                                              {"limit", "-1"},
                                              {"limit", "ten"},
                                              {"limit", ""},
                                              {"offset", "-1"},
                                              {"offset", "1.5"},
                                              {"fuzzymatching", "yes"},
                                              {"includefield", "a b"}}) {
    const std::string message = Refusal({{name, value}});
    EXPECT_THAT(message, AllOf(HasSubstr(name), HasSubstr("legal"))) << value;
  }
  EXPECT_THAT(Refusal({{"InstanceNumber", "1*"}}, Level::kImage), HasSubstr("legal are integers"));
}

TEST(SearchRequestTest, ParametersThatAreNotKnown) {
  EXPECT_THAT(Refusal({{"Colour", "red"}}),
              AllOf(HasSubstr("parameter 'Colour'"), HasSubstr("PatientID"), HasSubstr("limit")));
  // Of a level below, and one that is counted.
  EXPECT_THAT(Refusal({{"Modality", "CT"}}), HasSubstr("ModalitiesInStudy"));
  EXPECT_THAT(Refusal({{"NumberOfStudyRelatedSeries", "1"}}), HasSubstr("cannot be searched by"));
  EXPECT_THAT(Refusal({{"PatientID", "a"}, {"PatientID", "b"}}), HasSubstr("once"));
  EXPECT_THAT(Refusal({{"PatientID", "a"}, {"00100020", "b"}}), HasSubstr("once"));
  EXPECT_LT(Refusal({{std::string(10'000, 'x'), "1"}}).size(), 2000u);
}

TEST(SearchRequestTest, LimitsAreCutToTheServers) {
  EXPECT_EQ(Parse({})->limit, SearchRequest::kMostResults);
  EXPECT_EQ(Parse({{"limit", "7"}})->limit, 7);
  for (const char* huge : {"1001", "4294967297", "99999999999999999999999999"}) {
    EXPECT_EQ(Parse({{"limit", huge}})->limit, SearchRequest::kMostResults) << huge;
    EXPECT_LE(Parse({{"offset", huge}})->offset, SearchRequest::kLargestOffset) << huge;
  }
  EXPECT_EQ(Parse({{"offset", "1001"}})->offset, 1001);
}

TEST(SearchRequestTest, WhatIsReturned) {
  const std::vector<std::string> studies = Keywords(*Parse({}));
  EXPECT_THAT(studies,
              ::testing::IsSupersetOf({"PatientName", "StudyInstanceUID", "StudyDate",
                                       "ModalitiesInStudy", "NumberOfStudyRelatedInstances"}));
  EXPECT_THAT(studies, ::testing::Not(::testing::Contains("Modality")));

  const ObjectPath within{.study = "1.2"};
  const std::vector<std::string> series = Keywords(*Parse({}, Level::kSeries, within));
  EXPECT_THAT(series, ::testing::IsSupersetOf({"StudyInstanceUID", "SeriesInstanceUID", "Modality",
                                               "NumberOfSeriesRelatedInstances"}));
  EXPECT_THAT(series, ::testing::Not(::testing::Contains("PatientName")));
  EXPECT_THAT(Keywords(*Parse({}, Level::kSeries)), ::testing::Contains("PatientName"));
  EXPECT_THAT(Keywords(*Parse({{"includefield", "00100010,StudyDate"}}, Level::kSeries, within)),
              ::testing::IsSupersetOf({"PatientName", "StudyDate"}));
  EXPECT_THAT(Keywords(*Parse({{"includefield", "all"}}, Level::kSeries, within)),
              ::testing::IsSupersetOf({"PatientName", "StudyDescription"}));
  // What nobody knows is not returned, and no reason to refuse.
  EXPECT_EQ(Keywords(*Parse({{"includefield", "00189345"}, {"includefield", "CTDIvol"}},
                            Level::kSeries, within)),
            series);
}

}  // namespace
}  // namespace isocenter::dicomweb
