// What an acquisition takes from the worklist, and what it does not.
#include "server/pipeline/orders/order_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/fakes/fake_worklist.h"

namespace isocenter::pipeline {
namespace {

using isocenter::testing::YamadaStep;
using jobs::PatientStudy;
using jobs::ScheduledStep;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PatientStudy ByAccession() { return {.accession_number = "A1", .study_date = "20260102"}; }

void ExpectNothingTaken(const OrderMatch& match, const PatientStudy& header, const char* why) {
  ASSERT_THAT(match.warnings, SizeIs(1));
  EXPECT_EQ(match.warnings[0].kind, jobs::WarningKind::kWorklistMismatch);
  EXPECT_THAT(match.warnings[0].text, HasSubstr(why));
  EXPECT_EQ(match.patient_study.patient_name, header.patient_name);
  EXPECT_EQ(match.patient_study.patient_id, header.patient_id);
  EXPECT_EQ(match.patient_study.study_instance_uid, header.study_instance_uid);
  EXPECT_EQ(match.order.scheduled_step_id, "");
  EXPECT_TRUE(match.order.settled);
}

TEST(OrderMatchTest, AsksByAccessionNumberSoThatAnotherPatientIsNoticed) {
  EXPECT_FALSE(CanBeAsked({.patient_name = "Doe^Jane"}));
  EXPECT_TRUE(CanBeAsked({.patient_id = "P1"}));
  EXPECT_EQ(QueryOf({.patient_id = "P1"}).patient_id, "P1");
  const jobs::WorklistQuery query = QueryOf({.patient_id = "P1", .accession_number = "A1"});
  EXPECT_EQ(query.accession_number, "A1");
  EXPECT_EQ(query.patient_id, "");
}

TEST(OrderMatchTest, FillsInWhatTheHeaderLacks) {
  const OrderMatch match = MatchOrder(ByAccession(), {YamadaStep()});
  EXPECT_THAT(match.warnings, IsEmpty());
  const PatientStudy& identity = match.patient_study;
  EXPECT_EQ(identity.patient_name, "Yamada^Tarou=山田^太郎=やまだ^たろう");
  EXPECT_EQ(identity.patient_id, "P1");
  EXPECT_EQ(identity.patient_birth_date, "19700203");
  EXPECT_EQ(identity.patient_sex, "M");
  EXPECT_EQ(identity.study_instance_uid, "1.2.840.1");
  EXPECT_EQ(identity.referring_physician_name, "House^Gregory");
  EXPECT_EQ(identity.study_description, "Cerebral angiography");
  EXPECT_EQ(identity.study_id, "RP1");
  EXPECT_EQ(identity.study_date, "20260102") << "the header's";
  EXPECT_EQ(match.order.requested_procedure_id, "RP1");
  EXPECT_EQ(match.order.scheduled_step_id, "SPS1");
  EXPECT_EQ(match.order.scheduled_step_description, "Rotational run");
  EXPECT_EQ(match.order.modality, "XA");
  EXPECT_EQ(match.order.header_patient_id, "");
  EXPECT_EQ(match.order.header_accession_number, "A1");
}

TEST(OrderMatchTest, TheHeaderStandsAndDifferencesAreTold) {
  const PatientStudy header{.patient_name = "Yamada^Jirou",
                            .patient_id = "P1",
                            .patient_birth_date = "19700204",
                            .patient_sex = "F",
                            .study_instance_uid = "1.2.3",
                            .accession_number = "A1",
                            .study_description = "Head"};
  const OrderMatch match = MatchOrder(header, {YamadaStep()});
  ASSERT_THAT(match.warnings, SizeIs(1));
  EXPECT_THAT(match.warnings[0].text,
              HasSubstr("another patient's name, date of birth, sex, Study Instance UID"));
  for (const char* secret : {"Yamada", "Jirou", "1970", "P1"}) {
    EXPECT_THAT(match.warnings[0].text, Not(HasSubstr(secret))) << "warnings are logged";
  }
  EXPECT_EQ(match.patient_study.patient_name, "Yamada^Jirou");
  EXPECT_EQ(match.patient_study.patient_birth_date, "19700204");
  EXPECT_EQ(match.patient_study.patient_sex, "F");
  EXPECT_EQ(match.patient_study.study_instance_uid, "1.2.3");
  EXPECT_EQ(match.patient_study.study_description, "Head");
  EXPECT_EQ(match.patient_study.referring_physician_name, "House^Gregory");
  EXPECT_EQ(match.order.scheduled_step_id, "SPS1");
}

TEST(OrderMatchTest, ComponentGroupsOfANameAreComparedAndAdded) {
  PatientStudy header{.patient_name = "YAMADA^Tarou^^", .patient_id = "P1"};
  OrderMatch match = MatchOrder(header, {YamadaStep()});
  EXPECT_THAT(match.warnings, IsEmpty());
  EXPECT_EQ(match.patient_study.patient_name, "YAMADA^Tarou=山田^太郎=やまだ^たろう");
  header.patient_name = "=山田^太郎";
  match = MatchOrder(header, {YamadaStep()});
  EXPECT_THAT(match.warnings, IsEmpty());
  EXPECT_EQ(match.patient_study.patient_name, "Yamada^Tarou=山田^太郎=やまだ^たろう");
  header.patient_name = "Yamada^Tarou=山田^次郎";
  match = MatchOrder(header, {YamadaStep()});
  EXPECT_THAT(match.warnings, SizeIs(1));
  EXPECT_EQ(match.patient_study.patient_name, header.patient_name);
}

TEST(OrderMatchTest, NothingIsTakenOfWhatMayBeSomebodyElses) {
  ExpectNothingTaken(MatchOrder(ByAccession(), {}), ByAccession(), "nothing is scheduled for");
  PatientStudy header = ByAccession();
  header.patient_id = "P2";
  ExpectNothingTaken(MatchOrder(header, {YamadaStep()}), header, "another patient id");
  header = ByAccession();
  header.patient_name = "Doe^Jane";
  ExpectNothingTaken(MatchOrder(header, {YamadaStep()}), header, "name or date of birth");
  header = ByAccession();
  header.patient_birth_date = "19991231";
  ExpectNothingTaken(MatchOrder(header, {YamadaStep()}), header, "name or date of birth");
  // Worklists that do not look at the key.
  ScheduledStep other = YamadaStep();
  other.patient_study.accession_number = "A2";
  ExpectNothingTaken(MatchOrder(ByAccession(), {other}), ByAccession(), "nothing is scheduled");
  ScheduledStep second = YamadaStep();
  second.patient_study.patient_id = "P3";
  ExpectNothingTaken(MatchOrder(ByAccession(), {YamadaStep(), second}), ByAccession(),
                     "several patients");
  const PatientStudy wildcard{.patient_id = "*"};
  ExpectNothingTaken(MatchOrder(wildcard, {YamadaStep()}), wildcard, "nothing is scheduled");
}

TEST(OrderMatchTest, OfSeveralStepsWhatTheyHaveInCommon) {
  ScheduledStep second = YamadaStep();
  second.step_id = "SPS2";
  OrderMatch match = MatchOrder(ByAccession(), {YamadaStep(), second});
  ASSERT_THAT(match.warnings, SizeIs(1));
  EXPECT_THAT(match.warnings[0].text, HasSubstr("2 steps"));
  EXPECT_EQ(match.patient_study.patient_id, "P1");
  EXPECT_EQ(match.patient_study.study_instance_uid, "1.2.840.1");
  EXPECT_EQ(match.order.requested_procedure_id, "RP1");
  EXPECT_EQ(match.order.scheduled_step_id, "");

  // Two orders of one patient: the study that the header names decides.
  second.patient_study.study_instance_uid = "1.2.840.2";
  second.patient_study.accession_number = "A2";
  match = MatchOrder({.patient_id = "P1"}, {YamadaStep(), second});
  EXPECT_EQ(match.patient_study.patient_name, YamadaStep().patient_study.patient_name);
  EXPECT_EQ(match.patient_study.study_instance_uid, "");
  EXPECT_EQ(match.patient_study.accession_number, "");
  match =
      MatchOrder({.patient_id = "P1", .study_instance_uid = "1.2.840.2"}, {YamadaStep(), second});
  EXPECT_THAT(match.warnings, IsEmpty());
  EXPECT_EQ(match.patient_study.accession_number, "A2");
  EXPECT_EQ(match.order.scheduled_step_id, "SPS2");
}

}  // namespace
}  // namespace isocenter::pipeline
