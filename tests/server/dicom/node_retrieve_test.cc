// C-MOVE and C-GET with DCMTK's tools.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/scu.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/server/dicom/node_fixture.h"
#include "tests/server/dicom/store_scp.h"

namespace isocenter::dicom {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Files by SOP Instance UID.
std::map<std::string, fs::path> ByUid(const std::vector<fs::path>& files) {
  std::map<std::string, fs::path> by_uid;
  for (const fs::path& path : files) {
    DcmFileFormat file;
    OFString uid;
    EXPECT_TRUE(file.loadFile(path.c_str()).good()) << path;
    file.getDataset()->findAndGetOFString(DCM_SOPInstanceUID, uid);
    by_uid[uid.c_str()] = path;
  }
  return by_uid;
}

std::vector<fs::path> FilesIn(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  return files;
}

/// Every received object has the attributes and pixels of the stored one.
void ExpectSameObjects(const std::vector<fs::path>& stored, const std::vector<fs::path>& received,
                       E_TransferSyntax transfer_syntax) {
  const auto expected = ByUid(stored), actual = ByUid(received);
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [uid, path] : expected) {
    ASSERT_EQ(actual.count(uid), 1u) << uid;
    DcmFileFormat a, b;
    ASSERT_TRUE(a.loadFile(path.c_str()).good());
    ASSERT_TRUE(b.loadFile(actual.at(uid).c_str()).good());
    EXPECT_EQ(b.getDataset()->getOriginalXfer(), transfer_syntax);
    EXPECT_EQ(a.getDataset()->compare(*b.getDataset()), 0) << uid;
  }
}

class NodeRetrieveTest : public NodeTest {
 protected:
  void StartWithPeer(int port) {
    NodeOptions options;
    options.peers = {{"DEST", "127.0.0.1", port}};
    StartNode(options);
  }
  ToolOutput Move(const std::string& options, const std::string& keys) {
    return Scu("movescu -S -d " + options, keys);
  }
  fs::path received() const { return directory_.path() / "received"; }
};

constexpr char kFirstStudy[] = "-k QueryRetrieveLevel=STUDY -k StudyInstanceUID=1.2.3.1";

TEST_F(NodeRetrieveTest, GetDeliversTheStoredObjects) {
  StartNode();
  fs::create_directory(received());
  const ToolOutput output =
      Scu("getscu -S", absl::StrCat("-od ", received().string(), " ", kFirstStudy));
  EXPECT_EQ(output.exit_code, 0) << output.text;
  ExpectSameObjects(*store_->DicomFiles("yamada-1"), FilesIn(received()), EXS_LittleEndianExplicit);
  node_->Stop();  // all events are in
  EXPECT_EQ(events_.count(NodeOperation::kGet, NodeOutcome::kSuccess), 1);
  EXPECT_EQ(events_.count(NodeOperation::kStore, NodeOutcome::kSuccess), 6);
}

TEST_F(NodeRetrieveTest, GetAtEveryLevel) {
  StartNode();
  const auto instance = (*archive_->FindInstances(
      (*archive_->FindSeries({.study_uids = {"1.2.3.1"}}))[0].series.instance_uid))[2];
  const std::map<std::string, int> cases = {
      {"-P -k QueryRetrieveLevel=PATIENT -k PatientID=YAMADA", 10},
      {"-P -k QueryRetrieveLevel=STUDY -k PatientID=YAMADA -k StudyInstanceUID=1.2.3.2", 4},
      {"-S -k QueryRetrieveLevel=STUDY -k StudyInstanceUID='1.2.3.2\\1.2.3.3'", 7},
      {"-S -k QueryRetrieveLevel=IMAGE -k StudyInstanceUID=1.2.3.1 -k SOPInstanceUID=" +
           instance.instance.sop_instance_uid,
       1},
      {"-S -k QueryRetrieveLevel=STUDY -k StudyInstanceUID=9.9.9", 0}};
  for (const auto& [arguments, count] : cases) {
    fs::remove_all(received());
    fs::create_directory(received());
    const ToolOutput output =
        Scu("getscu", absl::StrCat("-od ", received().string(), " ", arguments));
    EXPECT_EQ(output.exit_code, 0) << output.text;
    EXPECT_THAT(FilesIn(received()), SizeIs(count)) << arguments;
  }
}

TEST_F(NodeRetrieveTest, GetInImplicitVr) {
  StartNode();
  fs::create_directory(received());
  const ToolOutput output =
      Scu("getscu -S +xi", absl::StrCat("-od ", received().string(), " ", kFirstStudy));
  EXPECT_EQ(output.exit_code, 0) << output.text;
  const auto stored = *store_->DicomFiles("yamada-1");
  EXPECT_EQ(ByUid(FilesIn(received())).size(), stored.size());
}

TEST_F(NodeRetrieveTest, MoveDeliversTheStoredObjects) {
  StoreScp scp(received(), "");
  StartWithPeer(scp.port());
  const ToolOutput output = Move("-aem DEST", kFirstStudy);
  EXPECT_EQ(output.exit_code, 0) << output.text;
  EXPECT_THAT(output.text, HasSubstr("Completed Suboperations       : 6"));
  ExpectSameObjects(*store_->DicomFiles("yamada-1"), FilesIn(received()), EXS_LittleEndianExplicit);
  node_->Stop();  // all events are in
  EXPECT_EQ(events_.count(NodeOperation::kMove, NodeOutcome::kSuccess), 1);
}

TEST_F(NodeRetrieveTest, MoveToAPeerOfImplicitVr) {
  StoreScp scp(received(), "+xi");
  StartWithPeer(scp.port());
  EXPECT_EQ(Move("-aem DEST", kFirstStudy).exit_code, 0);
  const auto files = FilesIn(received());
  ASSERT_THAT(files, SizeIs(6));
  DcmFileFormat file;
  ASSERT_TRUE(file.loadFile(files[0].c_str()).good());
  EXPECT_EQ(file.getDataset()->getOriginalXfer(), EXS_LittleEndianImplicit);
}

TEST_F(NodeRetrieveTest, MoveToAnUnknownDestination) {
  StartNode();
  const std::string refusal = Move("-aem NOBODY", kFirstStudy).text;
  EXPECT_THAT(refusal, HasSubstr("0xa801"));
  EXPECT_THAT(refusal, HasSubstr("'NOBODY' is no")) << "Error Comment";
  EXPECT_TRUE(Echoes());
}

TEST_F(NodeRetrieveTest, MoveToAPeerThatIsDown) {
  int port = 0;
  { port = StoreScp(received(), "").port(); }  // nobody listens there any more
  StartWithPeer(port);
  const ToolOutput output = Move("-aem DEST", kFirstStudy);
  EXPECT_THAT(output.text, HasSubstr("0xa702"));
  EXPECT_THAT(output.text, HasSubstr("Failed Suboperations          : 6"));
}

TEST_F(NodeRetrieveTest, MoveToAPeerThatBreaksOff) {
  StoreScp scp(received(), "--abort-after");
  StartWithPeer(scp.port());
  EXPECT_THAT(Move("-aem DEST", kFirstStudy).text, HasSubstr("Failed Suboperations          : 6"));
  EXPECT_TRUE(Echoes());
}

TEST_F(NodeRetrieveTest, FilesThatAreGoneAreReported) {
  StoreScp scp(received(), "");
  StartWithPeer(scp.port());
  fs::remove((*store_->DicomFiles("yamada-1"))[1]);
  const ToolOutput output = Move("-aem DEST", kFirstStudy);
  EXPECT_THAT(output.text, HasSubstr("0xb000"));
  EXPECT_THAT(output.text, HasSubstr("Completed Suboperations       : 5"));
  EXPECT_THAT(FilesIn(received()), SizeIs(5));
}

TEST_F(NodeRetrieveTest, CancelledMoveStops) {
  StoreScp scp(received(), "--sleep-after 1");
  StartWithPeer(scp.port());
  const ToolOutput output = Move("-aem DEST --cancel 1", kFirstStudy);
  EXPECT_THAT(output.text, HasSubstr("0xfe00"));
  EXPECT_LT(FilesIn(received()).size(), 6u);
  node_->Stop();  // all events are in
  EXPECT_EQ(events_.count(NodeOperation::kMove, NodeOutcome::kCancelled), 1);
}

/// A requestor that sends and receives single messages.
class MessageScu : public DcmSCU {
 public:
  using DcmSCU::receiveDIMSECommand;
  using DcmSCU::receiveDIMSEDataset;
  using DcmSCU::sendDIMSEMessage;
  using DcmSCU::sendSTOREResponse;
};

TEST_F(NodeRetrieveTest, CancelledGetStops) {
  StartNode();
  MessageScu scu;
  scu.setPeerHostName("127.0.0.1");
  scu.setPeerPort(static_cast<Uint16>(node_->port()));
  OFList<OFString> syntaxes;
  syntaxes.push_back(UID_LittleEndianExplicitTransferSyntax);
  scu.addPresentationContext(UID_GETStudyRootQueryRetrieveInformationModel, syntaxes);
  scu.addPresentationContext(UID_CTImageStorage, syntaxes, ASC_SC_ROLE_SCP);
  ASSERT_TRUE(scu.initNetwork().good());
  ASSERT_TRUE(scu.negotiateAssociation().good());
  DcmDataset keys;
  keys.putAndInsertString(DCM_QueryRetrieveLevel, "STUDY");
  keys.putAndInsertString(DCM_StudyInstanceUID, "1.2.3.1");
  T_DIMSE_Message request = {};
  request.CommandField = DIMSE_C_GET_RQ;
  T_DIMSE_C_GetRQ& get = request.msg.CGetRQ;
  get.MessageID = 1;
  get.DataSetType = DIMSE_DATASET_PRESENT;
  strcpy(get.AffectedSOPClassUID, UID_GETStudyRootQueryRetrieveInformationModel);
  const auto context = scu.findPresentationContextID(get.AffectedSOPClassUID, "");
  ASSERT_TRUE(scu.sendDIMSEMessage(context, &request, &keys).good());
  // The cancellation is on its way before the first instance has been answered.
  T_DIMSE_Message cancel = {};
  cancel.CommandField = DIMSE_C_CANCEL_RQ;
  cancel.msg.CCancelRQ.MessageIDBeingRespondedTo = get.MessageID;
  cancel.msg.CCancelRQ.DataSetType = DIMSE_DATASET_NULL;
  ASSERT_TRUE(scu.sendDIMSEMessage(context, &cancel, nullptr).good());
  int stored = 0, status = -1;
  while (status < 0) {
    T_DIMSE_Message message = {};
    T_ASC_PresentationContextID received_context = 0;
    ASSERT_TRUE(scu.receiveDIMSECommand(&received_context, &message, nullptr).good());
    if (message.CommandField == DIMSE_C_STORE_RQ) {
      DcmDataset* instance = nullptr;
      ASSERT_TRUE(scu.receiveDIMSEDataset(&received_context, &instance).good());
      delete instance;
      ASSERT_TRUE(
          scu.sendSTOREResponse(received_context, STATUS_Success, message.msg.CStoreRQ).good());
      ++stored;
    } else if (message.msg.CGetRSP.DimseStatus != STATUS_Pending) {
      status = message.msg.CGetRSP.DimseStatus;
      EXPECT_EQ(message.msg.CGetRSP.NumberOfRemainingSubOperations, 6 - stored);
    }
  }
  EXPECT_EQ(status, STATUS_GET_Cancel_SubOperationsTerminatedDueToCancelIndication);
  EXPECT_LT(stored, 6);
  scu.releaseAssociation();
  node_->Stop();
  EXPECT_EQ(events_.count(NodeOperation::kGet, NodeOutcome::kCancelled), 1);
}

TEST_F(NodeRetrieveTest, RetrievalNeedsTheUniqueKey) {
  StoreScp scp(received(), "");
  StartWithPeer(scp.port());
  EXPECT_THAT(Move("-aem DEST", "-k QueryRetrieveLevel=STUDY -k PatientID=YAMADA").text,
              HasSubstr("0xa900"));
  EXPECT_THAT(Move("-aem DEST", "-k QueryRetrieveLevel=STUDY -k StudyInstanceUID='*'").text,
              HasSubstr("0xa900"));
}

TEST_F(NodeRetrieveTest, SeveralRetrievalsAtOnce) {
  StartNode();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([this, t] {
      const fs::path directory = received() / absl::StrCat(t);
      fs::create_directories(directory);
      const ToolOutput output =
          Scu("getscu -P", absl::StrCat("-od ", directory.string(),
                                        " -k QueryRetrieveLevel=PATIENT -k PatientID=YAMADA"));
      EXPECT_EQ(output.exit_code, 0) << output.text;
      EXPECT_THAT(FilesIn(directory), SizeIs(10));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace isocenter::dicom
