// C-ECHO and C-FIND with DCMTK's tools.
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/server/dicom/node_fixture.h"

namespace isocenter::dicom {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NodeQueryTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    StartNode();
  }
  std::string Find(const std::string& root, const std::string& level, const std::string& keys) {
    const ToolOutput output =
        Scu("findscu " + root, absl::StrCat("-k QueryRetrieveLevel=", level, " ", keys));
    EXPECT_EQ(output.exit_code, 0) << output.text;
    return output.text;
  }
  int Matches(const std::string& level, const std::string& keys) {
    return Count(Find("-S", level, keys), "Find Response:");
  }
};

TEST_F(NodeQueryTest, EchoSucceeds) {
  EXPECT_TRUE(Echoes());
  EXPECT_EQ(Scu("echoscu", "-aec ANYTHING").exit_code, 0);
  node_->Stop();  // events of the release are in
  EXPECT_EQ(events_.count(NodeOperation::kEcho, NodeOutcome::kSuccess), 2);
  EXPECT_EQ(events_.count(NodeOperation::kAssociation, NodeOutcome::kSuccess), 2);
}

TEST_F(NodeQueryTest, EveryLevelOfBothRoots) {
  EXPECT_EQ(Count(Find("-P", "PATIENT", "-k PatientID"), "Find Response:"), 2);
  EXPECT_EQ(Count(Find("-P", "STUDY", "-k PatientID=YAMADA -k StudyInstanceUID"), "Find Response:"),
            2);
  for (const char* root : {"-P", "-S"}) {
    EXPECT_EQ(Count(Find(root, "STUDY", "-k StudyInstanceUID"), "Find Response:"), 3);
    EXPECT_EQ(Count(Find(root, "SERIES", "-k StudyInstanceUID=1.2.3.1 -k SeriesInstanceUID"),
                    "Find Response:"),
              1);
    EXPECT_EQ(Count(Find(root, "IMAGE", "-k StudyInstanceUID=1.2.3.1 -k SOPInstanceUID"),
                    "Find Response:"),
              6);
  }
  node_->Stop();  // all events are in
  EXPECT_GE(events_.count(NodeOperation::kFind, NodeOutcome::kSuccess), 8);
}

TEST_F(NodeQueryTest, MatchingOfKeys) {
  EXPECT_EQ(Matches("STUDY", "-k PatientName='YAMADA*'"), 2);
  EXPECT_EQ(Matches("STUDY", "-k PatientName='doe^jane'"), 1);
  EXPECT_EQ(Matches("STUDY", "-k PatientName='Nobody*'"), 0);
  EXPECT_EQ(Matches("STUDY", "-k PatientName='*' -k AccessionNumber='A?23*'"), 3);
  EXPECT_EQ(Matches("STUDY", "-k StudyDate=20260101-20260131"), 1);
  EXPECT_EQ(Matches("STUDY", "-k StudyDate=20260102-"), 2);
  EXPECT_EQ(Matches("STUDY", "-k StudyDate=-20260102"), 2);
  EXPECT_EQ(Matches("STUDY", "-k StudyTime=0304-0305"), 3);
  EXPECT_EQ(Matches("STUDY", "-k 'StudyInstanceUID=1.2.3.1\\1.2.3.3'"), 2);
  EXPECT_EQ(Matches("STUDY", "-k ModalitiesInStudy=CT"), 3);
  EXPECT_EQ(Matches("STUDY", "-k ModalitiesInStudy=MR"), 0);
  EXPECT_EQ(Matches("SERIES", "-k Modality=CT -k SeriesNumber=1"), 3);
  EXPECT_EQ(Matches("IMAGE", "-k StudyInstanceUID=1.2.3.2 -k InstanceNumber=4"), 1);
  EXPECT_EQ(Matches("IMAGE", "-k PatientID=DOE"), 3);
}

TEST_F(NodeQueryTest, IdeographicNamesInUnicode) {
  EXPECT_EQ(Matches("STUDY", "-k 'SpecificCharacterSet=ISO_IR 192' -k PatientName='山田*'"), 2);
  EXPECT_EQ(Matches("STUDY", "-k 'SpecificCharacterSet=ISO_IR 192' -k PatientName='鈴木*'"), 0);
}

TEST_F(NodeQueryTest, KeysInTheRequestAttributesSequence) {
  for (int i = 1; i <= 2; ++i) {
    archive::Result result;
    result.patient.id = "REQUESTED";
    result.study.instance_uid = absl::StrCat("1.2.3.5.", i);
    result.series = {.instance_uid = absl::StrCat("1.2.3.5.", i, ".1"),
                     .number = 1,
                     .requested_procedure_id = absl::StrCat("RP", i),
                     .scheduled_step_id = absl::StrCat("SPS", i)};
    auto staging = archive_->Stage(absl::StrCat("requested-", i), 0);
    ASSERT_TRUE(staging.ok()) << staging.status();
    ASSERT_TRUE(archive_->Commit(*std::move(staging), result).ok());
  }
  const std::string one =
      Find("-S", "SERIES", "-k 'RequestAttributesSequence[0].RequestedProcedureID=RP2'");
  EXPECT_EQ(Count(one, "Find Response:"), 1) << one;
  EXPECT_THAT(one, HasSubstr("[RP2 ]"));
  EXPECT_THAT(one, Not(HasSubstr("SPS2")));  // was not asked for
  EXPECT_EQ(Matches("SERIES", "-k 'RequestAttributesSequence[0].ScheduledProcedureStepID=SPS*'"),
            2);
  // An empty sequence asks for all of it.
  const std::string all =
      Find("-S", "SERIES", "-k PatientID=REQUESTED -k RequestAttributesSequence");
  for (const char* value : {"[RP1 ]", "[RP2 ]", "[SPS1]", "[SPS2]"}) {
    EXPECT_THAT(all, HasSubstr(value));
  }
  EXPECT_THAT(all, Not(HasSubstr("WarningUnsupportedOptionalKeys")));
}

TEST_F(NodeQueryTest, KeysInJapaneseByCodeExtensions) {
  // 山田 in JIS X 0208, as ISO 2022 IR 87 announces it: ESC $ B, two bytes each, ESC ( B.
  const std::string escaped = "\\033$B;3ED\\033(B";
  EXPECT_EQ(Matches("STUDY",
                    "-k 'SpecificCharacterSet=\\ISO 2022 IR 87' "
                    "-k PatientName=\"$(printf 'Yamada^Tarou=" +
                        escaped + "*')\""),
            2);
  EXPECT_EQ(Matches("STUDY", "-k 'SpecificCharacterSet=ISO_IR 100' -k 'PatientName=doe^jane'"), 1);
}

TEST_F(NodeQueryTest, AnswersAreLimited) {
  StartNode({.max_find_matches = 2});
  const ToolOutput output = Scu("findscu -S -d", "-k QueryRetrieveLevel=STUDY -k StudyInstanceUID");
  EXPECT_EQ(Count(output.text, "0xff00"), 2);
  EXPECT_THAT(output.text, HasSubstr("0xa700"));
  EXPECT_EQ(Matches("STUDY", "-k PatientID=YAMADA"), 2) << "as many as there may be";
}

TEST_F(NodeQueryTest, RequestedKeysComeBack) {
  const std::string text =
      Find("-S", "STUDY",
           "-k StudyInstanceUID=1.2.3.1 -k PatientName -k PatientID -k PatientBirthDate "
           "-k PatientSex -k StudyDate -k StudyTime -k AccessionNumber -k StudyID "
           "-k StudyDescription -k ReferringPhysicianName -k ModalitiesInStudy "
           "-k NumberOfStudyRelatedSeries -k NumberOfStudyRelatedInstances -k RetrieveAETitle");
  for (const char* value :
       {"[Yamada^Tarou=山田^太郎=やまだ^たろう]", "[YAMADA]", "[19700203]", "[F ]", "[20260102]",
        "[030405]", "[A1234 ]", "[S7]", "[Head]", "[House^Gregory ]", "[CT]", "[6 ]", "[1 ]",
        "[ISOCENTER ]", "[ISO_IR 192]", "[STUDY ]", "[ONLINE]"}) {
    EXPECT_THAT(text, HasSubstr(value));
  }
  EXPECT_THAT(text, Not(HasSubstr("WarningUnsupportedOptionalKeys")));
  const std::string series = Find("-S", "SERIES",
                                  "-k StudyInstanceUID=1.2.3.1 -k SeriesDescription "
                                  "-k NumberOfSeriesRelatedInstances -k BodyPartExamined");
  for (const char* value : {"[Cone-beam CT fdk", "[6 ]", "[HEAD]", "[1.2.3.1"}) {
    EXPECT_THAT(series, HasSubstr(value));
  }
  EXPECT_THAT(Find("-P", "PATIENT", "-k PatientID=YAMADA -k NumberOfPatientRelatedInstances"),
              HasSubstr("[10]"));
}

TEST_F(NodeQueryTest, UnknownKeysAreLeftOutWithAWarning) {
  const std::string text = Find("-S", "STUDY", "-k StudyInstanceUID=1.2.3.1 -k PatientWeight");
  EXPECT_THAT(text, HasSubstr("WarningUnsupportedOptionalKeys"));
  EXPECT_THAT(text, Not(HasSubstr("PatientWeight")));
}

TEST_F(NodeQueryTest, LevelsThatAreNoneAreRefused) {
  const auto refused = [&](const std::string& arguments) {
    return Scu("findscu -d", arguments).text;
  };
  EXPECT_THAT(refused("-S -k QueryRetrieveLevel=PATIENT -k PatientID"), HasSubstr("0xa900"));
  EXPECT_THAT(refused("-P -k QueryRetrieveLevel=VOLUME -k PatientID"), HasSubstr("0xa900"));
  EXPECT_THAT(refused("-P -k PatientID"), HasSubstr("0xa900"));
  EXPECT_TRUE(Echoes());
  node_->Stop();  // all events are in
  EXPECT_EQ(events_.count(NodeOperation::kFind, NodeOutcome::kFailure), 3);
}

TEST_F(NodeQueryTest, CancelledQueryEnds) {
  // So many answers that the node waits for the tool to take them when the cancellation comes.
  archive::Result many;
  many.patient.id = "MANY";
  many.study.instance_uid = "1.2.3.4";
  many.series = {.instance_uid = "1.2.3.4.1", .modality = "CT", .number = 1};
  for (int i = 0; i < 20000; ++i) {
    many.instances.push_back({.sop_instance_uid = absl::StrCat("1.2.3.4.1.", i),
                              .sop_class_uid = "1.2.840.10008.5.1.4.1.1.2",
                              .number = i + 1});
  }
  auto staging = archive_->Stage("many", 0);
  ASSERT_TRUE(staging.ok()) << staging.status();
  ASSERT_TRUE(archive_->Commit(*std::move(staging), many).ok());
  const ToolOutput output = RunTool(absl::StrCat(
      "findscu -S -d --cancel 2 -k QueryRetrieveLevel=IMAGE -k SeriesInstanceUID=1.2.3.4.1 "
      "-k SOPInstanceUID -k PatientID 127.0.0.1 ",
      node_->port(), " 2>&1 | grep -a 'DIMSE Status'"));
  EXPECT_THAT(output.text, HasSubstr("0xfe00"));
  EXPECT_LT(Count(output.text, "0xff00"), 20000);
  node_->Stop();  // all events are in
  EXPECT_EQ(events_.count(NodeOperation::kFind, NodeOutcome::kCancelled), 1);
}

TEST_F(NodeQueryTest, SeveralAssociationsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(Echoes());
        EXPECT_EQ(Matches("STUDY", "-k PatientName='YAMADA*'"), 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  node_->Stop();  // all events are in
  EXPECT_EQ(events_.count(NodeOperation::kFind, NodeOutcome::kSuccess), 40);
}

TEST_F(NodeQueryTest, WhatWasStoredIsFoundAfterARestart) {
  OpenArchive();
  StartNode();
  EXPECT_EQ(Matches("STUDY", "-k StudyInstanceUID"), 3);
}

}  // namespace
}  // namespace isocenter::dicom
