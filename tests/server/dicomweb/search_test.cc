// QIDO-RS over stored volumes: what is found, in which pages, and that it is what C-FIND finds.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/dicom/scp/query.h"
#include "server/dicom/scp/query_attributes.h"
#include "server/dicomweb/requests.h"
#include "tests/server/dicomweb/dicomweb_fixture.h"

namespace isocenter::dicomweb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::json;

class SearchTest : public DicomWebTest {
 protected:
  void SetUp() override {
    DicomWebTest::SetUp();
    for (int i = 0; i < 3; ++i) {
      jobs::Job job = dicom::TestJobInBothForms(absl::StrCat("job-", i));
      job.patient_study.study_date = absl::StrCat("2026010", i + 1);
      job.patient_study.accession_number = absl::StrCat("A", i);
      if (i == 2) job.patient_study.patient_name = "Doe^Jane";
      Store(job);
    }
  }
  /// The values of one attribute of all that is found, as they stand in the answer.
  std::vector<std::string> Found(const std::string& target, const std::string& tag) {
    const Answer answer = Get(target);
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::vector<std::string> values;
    for (const Json& object : answer.json()) values.push_back(object[tag]["Value"][0]);
    return values;
  }
  std::vector<std::string> Accessions(const std::string& target) {
    return Found(target, "00080050");
  }
};

TEST_F(SearchTest, AStudyInTheJsonModel) {
  const Answer answer = Get("/studies?AccessionNumber=A0");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("Content-Type"), "application/dicom+json");
  ASSERT_THAT(answer.json(), SizeIs(1));
  const Json study = answer.json()[0];
  EXPECT_EQ(study["00080020"], Json({{"vr", "DA"}, {"Value", {"20260101"}}}));
  EXPECT_EQ(study["00080061"], Json({{"vr", "CS"}, {"Value", {"CT", "XA"}}}));
  EXPECT_EQ(study["00100010"]["Value"][0], Json({{"Alphabetic", "Yamada^Tarou"},
                                                 {"Ideographic", "山田^太郎"},
                                                 {"Phonetic", "やまだ^たろう"}}));
  EXPECT_EQ(study["00201206"], Json({{"vr", "IS"}, {"Value", {2}}}));
  EXPECT_EQ(study["00201208"]["Value"], Json({6}));
  EXPECT_EQ(study["00080056"]["Value"][0], "ONLINE");
  const std::string uid = study["0020000D"]["Value"][0];
  EXPECT_EQ(study["00081190"],
            Json({{"vr", "UR"}, {"Value", {"http://node.example:8443/dicomweb/studies/" + uid}}}));
  EXPECT_FALSE(study.contains("0020000E"));
  // Attributes stand in the order of their tags.
  EXPECT_LT(answer.body.find("00080020"), answer.body.find("00100010"));
}

TEST_F(SearchTest, EmptyValuesHaveNone) {
  jobs::Job job = dicom::TestJobInBothForms("bare");
  job.patient_study.patient_sex = "";
  job.patient_study.patient_name = "";
  job.patient_study.accession_number = "BARE";
  Store(job);
  const Json study = Get("/studies?AccessionNumber=BARE").json()[0];
  EXPECT_EQ(study["00100040"], Json({{"vr", "CS"}}));
  EXPECT_EQ(study["00100010"], Json({{"vr", "PN"}}));
  const Json series = Get("/series?AccessionNumber=BARE").json()[0];
  EXPECT_EQ(series["00400275"], Json({{"vr", "SQ"}}));
}

TEST_F(SearchTest, NewestStudiesComeFirst) {
  EXPECT_THAT(Accessions("/studies"), ElementsAre("A2", "A1", "A0"));
}

TEST_F(SearchTest, KeysMatchAsOnDicom) {
  EXPECT_THAT(Accessions("/studies?PatientName=doe*"), ElementsAre("A2"));
  EXPECT_THAT(Accessions("/studies?PatientName=*tarou"), ElementsAre("A1", "A0"));
  EXPECT_THAT(Accessions("/studies?00100010=%E5%B1%B1%E7%94%B0*"), ElementsAre("A1", "A0"));
  EXPECT_THAT(Accessions("/studies?StudyDate=20260102-"), ElementsAre("A2", "A1"));
  EXPECT_THAT(Accessions("/studies?StudyDate=20260101-20260102"), ElementsAre("A1", "A0"));
  EXPECT_THAT(Accessions("/studies?AccessionNumber=A?"), ElementsAre("A2", "A1", "A0"));
  EXPECT_THAT(Accessions("/studies?ModalitiesInStudy=XA,MR"), ElementsAre("A2", "A1", "A0"));
  EXPECT_THAT(Accessions("/studies?ModalitiesInStudy=MR"), IsEmpty());
  EXPECT_THAT(Accessions("/studies?StudyDescription=head"), IsEmpty());
  EXPECT_THAT(Accessions("/studies?StudyDescription=*ead&PatientID=PAT-job-1"), ElementsAre("A1"));
  EXPECT_THAT(Accessions("/studies?PatientID="), SizeIs(3));
  EXPECT_THAT(Get("/series?Modality=XA").json(), SizeIs(3));
  EXPECT_THAT(Get("/instances?InstanceNumber=5").json(), SizeIs(3));
  EXPECT_THAT(Get("/instances?SOPClassUID=1.2.840.10008.5.1.4.1.1.2").json(), SizeIs(15));
}

TEST_F(SearchTest, FindsWhatCFindFinds) {
  using dicom::KeyValues;
  constexpr uint32_t kLevel = dicom::kQueryRetrieveLevel;
  const struct {
    const char* target;
    KeyValues keys;
    uint32_t unique;
    const char* unique_key;
  } cases[] = {{"/studies?PatientName=yamada%5E*&StudyTime=03-04",
                {{kLevel, "STUDY"}, {dicom::kPatientName, "yamada^*"}, {0x00080030, "03-04"}},
                dicom::kStudyInstanceUid,
                "0020000D"},
               {"/studies?PatientBirthDate=19700203&ReferringPhysicianName=*gregory",
                {{kLevel, "STUDY"}, {0x00100030, "19700203"}, {0x00080090, "*gregory"}},
                dicom::kStudyInstanceUid,
                "0020000D"},
               {"/series?Modality=C?&StudyDate=-20260102",
                {{kLevel, "SERIES"}, {0x00080060, "C?"}, {dicom::kStudyDate, "-20260102"}},
                dicom::kSeriesInstanceUid,
                "0020000E"},
               {"/instances?Rows=10&PatientID=PAT-job-2",
                {{kLevel, "IMAGE"}, {0x00280010, "10"}, {dicom::kPatientId, "PAT-job-2"}},
                dicom::kSopInstanceUid,
                "00080018"}};
  for (const auto& one : cases) {
    KeyValues keys = one.keys;
    keys[one.unique] = "";
    const auto query = dicom::Query::Parse(dicom::QueryRoot::kStudy, keys);
    ASSERT_TRUE(query.ok()) << query.status();
    std::set<std::string> wanted;
    archive::Gap gap;
    const auto keep = [&](const KeyValues& answer) {
      wanted.insert(answer.at(one.unique));
      return true;
    };
    ASSERT_TRUE(query->ForEachMatch(*catalog_, "AE", keep, gap).ok());
    EXPECT_EQ(gap, "");
    const std::vector<std::string> found = Found(one.target, one.unique_key);
    EXPECT_FALSE(wanted.empty()) << one.target;
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), wanted) << one.target;
    EXPECT_EQ(found.size(), wanted.size()) << one.target;
  }
}

TEST_F(SearchTest, WithinAStudyAndASeries) {
  const std::string study = Found("/studies?AccessionNumber=A1", "0020000D")[0];
  const auto series = Get(absl::StrCat("/studies/", study, "/series"));
  ASSERT_THAT(series.json(), SizeIs(2));
  for (const Json& each : series.json()) {
    EXPECT_EQ(each["0020000D"]["Value"][0], study);
    EXPECT_FALSE(each.contains("00100010")) << "the client has it of the study";
  }
  EXPECT_EQ(series.json()[0]["00201209"]["Value"][0], 5);
  const std::string uid = series.json()[0]["0020000E"]["Value"][0];
  const std::string target = absl::StrCat("/studies/", study, "/series/", uid, "/instances");
  std::vector<int> numbers;
  for (const Json& each : Get(target).json()) numbers.push_back(each["00200013"]["Value"][0]);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5)) << "in slice order";
  EXPECT_THAT(Get(absl::StrCat("/studies/", study, "/instances")).json(), SizeIs(6));
  EXPECT_EQ(Get(target + "?includefield=PatientID&limit=1").json()[0]["00100020"]["Value"][0],
            "PAT-job-1");
}

TEST_F(SearchTest, NothingIsAnEmptyArray) {
  for (const char* target : {"/studies?PatientID=nobody", "/studies/1.2.3/series",
                             "/studies?offset=3", "/instances?offset=1000000000"}) {
    const Answer answer = Get(target);
    EXPECT_EQ(answer.status, 200) << target;
    EXPECT_EQ(answer.body, "[]") << target;
    EXPECT_EQ(answer.header("Warning"), "") << target;
  }
}

TEST_F(SearchTest, PagesAreWholeAndDisjoint) {
  for (const char* level : {"/studies", "/series", "/instances"}) {
    const Json all = Get(level).json();
    Json pages = Json::array();
    for (int offset = 0; offset < 100; offset += 4) {
      const Answer page = Get(absl::StrCat(level, "?limit=4&offset=", offset));
      ASSERT_EQ(page.status, 200);
      const bool has_more = pages.size() + page.json().size() < all.size();
      EXPECT_EQ(
          page.header("Warning"),
          has_more ? "299 isocenter \"There are additional results that can be requested\"" : "")
          << level << " " << offset;
      for (const Json& each : page.json()) pages.push_back(each);
      if (!has_more) break;
    }
    EXPECT_EQ(pages, all) << level;
  }
}

TEST_F(SearchTest, ManyUidsAreLookedForAtOnce) {
  std::string list = Found("/studies?AccessionNumber=A1", "0020000D")[0];
  for (int i = 0; i < 900; ++i) absl::StrAppend(&list, ",1.2.", i);
  EXPECT_THAT(Accessions(absl::StrCat("/studies?StudyInstanceUID=", list)), ElementsAre("A1"));
}

TEST_F(SearchTest, WhatIsRefused) {
  const Answer unknown = Get("/studies?Colour=red");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.body, HasSubstr("parameter 'Colour'"));
  EXPECT_EQ(Get("/studies/abc/series").status, 400);
  EXPECT_EQ(Get("/studies/1.2%2F3/series").status, 404);
  EXPECT_EQ(Get("/studies/1.2%00/series").status, 400);
  EXPECT_EQ(Get("/studies?PatientID=%00").status, 400);
  EXPECT_EQ(Get("/studies?PatientID=%zz").status, 400);
  EXPECT_EQ(Get("/patients").status, 404);
  const Answer xml = Get("/studies", "application/dicom+xml");
  EXPECT_EQ(xml.status, 406);
  EXPECT_THAT(xml.body, HasSubstr("legal are application/dicom+json, application/json"));
  EXPECT_EQ(Get("/studies", "nonsense").status, 400);
  EXPECT_EQ(Get("/studies?accept=application%2Fdicom%2Bxml").status, 406);
  EXPECT_EQ(Get("/studies", "multipart/related, application/dicom+json;q=0.9").status, 200);
}

TEST_F(SearchTest, FuzzyMatchingIsSaidNotToBe) {
  EXPECT_THAT(Get("/studies?fuzzymatching=true").header("Warning"),
              HasSubstr("fuzzymatching parameter is not supported"));
  EXPECT_EQ(Get("/studies?fuzzymatching=false").header("Warning"), "");
}

TEST_F(SearchTest, AddressesAreThoseOfTheProxy) {
  http::Request request;
  request.headers = {{"host", "pacs.example"}, {"x-forwarded-proto", "https"}};
  EXPECT_EQ(BaseUrl(request), "https://pacs.example/dicomweb");
  request.headers["x-forwarded-proto"] = "javascript";
  EXPECT_EQ(BaseUrl(request), "http://pacs.example/dicomweb");
  request.headers["host"] = "a\"b";
  EXPECT_EQ(BaseUrl(request), "/dicomweb");
}

TEST_F(SearchTest, TheAuditTrailHasTheKeys) {
  Get("/studies?PatientName=Doe*&limit=5");
  const auto events = audit_.Of(audit::Action::kQuery);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].actor.name, "the viewer");
  EXPECT_EQ(events[0].actor.address, "192.0.2.7");
  EXPECT_EQ(events[0].service, "http");
  EXPECT_EQ(events[0].matches, 1);
  EXPECT_THAT(events[0].query, ElementsAre("(0010,0010)=Doe*"));
  EXPECT_THAT(events[0].job_ids, IsEmpty());
}

}  // namespace
}  // namespace isocenter::dicomweb
