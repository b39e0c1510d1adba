// The worklist over the network, and what comes of its answers.
#include "server/dicom/worklist/worklist.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/time/clock.h"
#include "server/dicom/worklist/worklist_data.h"
#include "tests/server/dicom/fake_ris.h"

namespace isocenter::dicom {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

void Put(DcmItem& item, const DcmTagKey& tag, const std::string& value) {
  ASSERT_TRUE(item.putAndInsertString(tag, value.c_str()).good()) << tag.toString();
}

/// An answer in a character set.
std::unique_ptr<DcmDataset> Answer(const std::string& character_set, const std::string& name,
                                   const std::string& accession = "A1") {
  auto answer = std::make_unique<DcmDataset>();
  if (!character_set.empty()) Put(*answer, DCM_SpecificCharacterSet, character_set);
  Put(*answer, DCM_PatientName, name);
  Put(*answer, DCM_PatientID, " P1 ");
  Put(*answer, DCM_PatientBirthDate, "19700203");
  Put(*answer, DCM_PatientSex, "F");
  Put(*answer, DCM_AccessionNumber, accession);
  Put(*answer, DCM_StudyInstanceUID, "1.2.840.1");
  Put(*answer, DCM_RequestedProcedureID, "RP1");
  Put(*answer, DCM_RequestedProcedureDescription, "Angiography");
  DcmItem* step = nullptr;
  EXPECT_TRUE(answer->findOrCreateSequenceItem(DCM_ScheduledProcedureStepSequence, step).good());
  Put(*step, DCM_ScheduledStationAETitle, "ISOCENTER");
  Put(*step, DCM_ScheduledProcedureStepStartDate, "20260102");
  Put(*step, DCM_ScheduledProcedureStepStartTime, "1015");
  Put(*step, DCM_Modality, "XA");
  Put(*step, DCM_ScheduledProcedureStepID, "SPS1");
  Put(*step, DCM_ScheduledProcedureStepDescription, "Rotational run");
  return answer;
}

class WorklistTest : public ::testing::Test {
 protected:
  absl::StatusOr<jobs::WorklistAnswer> Find(const jobs::WorklistQuery& query,
                                            absl::Duration timeout = absl::Seconds(20)) {
    DicomWorklist worklist(ris_.peer(), {}, [this](NodeOutcome outcome) { outcome_ = outcome; });
    return worklist.Find(query, absl::Now() + timeout);
  }
  FakeRis ris_;
  NodeOutcome outcome_ = NodeOutcome::kCancelled;
};

TEST_F(WorklistTest, AsksWithKeysAndReadsAllAttributes) {
  std::string asked, station, date;
  ris_.find = [&](DcmDataset& keys) {
    OFString value;
    keys.findAndGetOFString(DCM_AccessionNumber, value);
    asked = value.c_str();
    DcmItem* step = nullptr;
    EXPECT_TRUE(keys.findAndGetSequenceItem(DCM_ScheduledProcedureStepSequence, step).good());
    step->findAndGetOFString(DCM_ScheduledStationAETitle, value);
    station = value.c_str();
    step->findAndGetOFString(DCM_ScheduledProcedureStepStartDate, value);
    date = value.c_str();
    EXPECT_TRUE(keys.tagExists(DCM_StudyInstanceUID));
    std::vector<std::unique_ptr<DcmDataset>> answers;
    answers.push_back(Answer("", "Doe^Jane"));
    return answers;
  };
  const auto answer =
      Find({.accession_number = "A1", .station_ae_title = "ISOCENTER", .date = "20260101-"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(asked, "A1");
  EXPECT_EQ(station, "ISOCENTER");
  EXPECT_EQ(date, "20260101-");
  ASSERT_THAT(answer->steps, SizeIs(1));
  const jobs::ScheduledStep& step = answer->steps[0];
  EXPECT_EQ(step.patient_study.patient_name, "Doe^Jane");
  EXPECT_EQ(step.patient_study.patient_id, "P1");
  EXPECT_EQ(step.patient_study.study_instance_uid, "1.2.840.1");
  EXPECT_EQ(step.requested_procedure_id, "RP1");
  EXPECT_EQ(step.step_id, "SPS1");
  EXPECT_EQ(step.modality, "XA");
  EXPECT_EQ(step.start_time, "101500");
  EXPECT_EQ(outcome_, NodeOutcome::kSuccess);
}

TEST_F(WorklistTest, ConvertsCharacterSets) {
  // "Yamada^Tarou=山田^太郎" in ISO 2022 IR 87, as in DICOM PS3.5 H.3.1.
  const std::string japanese =
      "Yamada^Tarou=\x1b$B;3ED\x1b(B^\x1b$BB@O:\x1b(B=\x1b$B$d$^$@\x1b(B^\x1b$B$?$m$&\x1b(B";
  auto answer = Answer("\\ISO 2022 IR 87", japanese);
  EXPECT_EQ(ScheduledSteps(*answer)[0].patient_study.patient_name,
            "Yamada^Tarou=山田^太郎=やまだ^たろう");
  // The same with half-width katakana, as in H.3.2.
  answer = Answer("ISO 2022 IR 13\\ISO 2022 IR 87",
                  "\xd4\xcf\xc0\xde^\xc0\xdb\xb3=\x1b$B;3ED\x1b(J^\x1b$BB@O:\x1b(J");
  EXPECT_EQ(ScheduledSteps(*answer)[0].patient_study.patient_name, "ﾔﾏﾀﾞ^ﾀﾛｳ=山田^太郎");
  // Korean, as in PS3.5 I.2.
  answer = Answer("\\ISO 2022 IR 149", "Hong^Gildong=\x1b$)C\xfb\xf3^\x1b$)C\xd1\xce\xd4\xd7");
  EXPECT_EQ(ScheduledSteps(*answer)[0].patient_study.patient_name, "Hong^Gildong=洪^吉洞");
  answer = Answer("ISO_IR 100", "Buc^J\xe9r\xf4me");
  EXPECT_EQ(ScheduledSteps(*answer)[0].patient_study.patient_name, "Buc^Jérôme");
  answer = Answer("ISO_IR 192", "王^小東");
  EXPECT_EQ(ScheduledSteps(*answer)[0].patient_study.patient_name, "王^小東");
  // Bytes that nobody can understand are not taken for text.
  answer = Answer("", "J\xe9r\xf4me");
  EXPECT_EQ(ScheduledSteps(*answer)[0].patient_study.patient_name, "");
  EXPECT_EQ(ScheduledSteps(*answer)[0].patient_study.patient_id, "P1");
}

TEST_F(WorklistTest, ValuesThatAreNotLegalAreLeftOut) {
  auto answer = Answer("", "Doe^Jane");
  Put(*answer, DCM_PatientSex, "X");
  Put(*answer, DCM_StudyInstanceUID, "not.a.uid");
  Put(*answer, DCM_PatientBirthDate, "unknown");
  const jobs::PatientStudy identity = ScheduledSteps(*answer)[0].patient_study;
  EXPECT_EQ(identity.patient_sex, "");
  EXPECT_EQ(identity.study_instance_uid, "");
  EXPECT_EQ(identity.patient_birth_date, "");
}

TEST_F(WorklistTest, TakesNoMoreThanTheLimit) {
  ris_.find = [](DcmDataset&) {
    std::vector<std::unique_ptr<DcmDataset>> answers;
    for (int i = 0; i < 20; ++i) answers.push_back(Answer("", "Doe^Jane"));
    return answers;
  };
  auto answer = Find({.limit = 5});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->steps, SizeIs(5));
  EXPECT_TRUE(answer->truncated);
  answer = Find({.limit = 20});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->steps, SizeIs(20));
  EXPECT_FALSE(answer->truncated);
}

TEST_F(WorklistTest, OneThatIsSlowDownOrInterruptedIsAnError) {
  ris_.delay = absl::Seconds(3);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Find({}, absl::Seconds(1)).status()));
  {
    DicomWorklist worklist(ris_.peer(), {}, nullptr);
    worklist.Interrupt();
    const absl::Time begin = absl::Now();
    EXPECT_TRUE(absl::IsUnavailable(worklist.Find({}, begin + absl::Seconds(20)).status()));
    EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  }
  ris_.Stop();
  const auto down = Find({});
  EXPECT_TRUE(absl::IsUnavailable(down.status())) << down.status();
  EXPECT_THAT(std::string(down.status().message()), HasSubstr("RIS"));
  EXPECT_EQ(outcome_, NodeOutcome::kFailure);
}

}  // namespace
}  // namespace isocenter::dicom
