// C-MOVE and C-GET in the transfer syntax that a peer gets its instances in.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcrledrg.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/scu.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/server/dicom/node_fixture.h"
#include "tests/server/dicom/store_scp.h"

namespace isocenter::dicom {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kSlices = 6;
constexpr char kFirstStudy[] = "-k QueryRetrieveLevel=STUDY -k StudyInstanceUID=1.2.3.1";

struct Received {
  E_TransferSyntax transfer_syntax;
  std::vector<Uint16> pixels;
};

/// The CT images among the files of a directory, by SOP Instance UID.
std::map<std::string, Received> Read(const std::vector<fs::path>& files) {
  std::map<std::string, Received> received;
  for (const fs::path& path : files) {
    DcmFileFormat file;
    EXPECT_TRUE(file.loadFile(path.c_str()).good()) << path;
    const E_TransferSyntax transfer_syntax = file.getDataset()->getOriginalXfer();
    // By a program of its own: DCMTK's decoder and our encoder have functions of the same names.
    if (transfer_syntax == EXS_JPEGLSLossless) {
      const std::string plain = path.string() + ".plain";
      EXPECT_EQ(RunTool(absl::StrCat("dcmdjpls ", path.string(), " ", plain)).exit_code, 0);
      EXPECT_TRUE(file.loadFile(plain.c_str()).good()) << path;
    }
    DcmDataset& dataset = *file.getDataset();
    EXPECT_TRUE(dataset.chooseRepresentation(EXS_LittleEndianExplicit, nullptr).good()) << path;
    OFString uid;
    dataset.findAndGetOFString(DCM_SOPInstanceUID, uid);
    const Uint16* pixels = nullptr;
    unsigned long count = 0;
    EXPECT_TRUE(dataset.findAndGetUint16Array(DCM_PixelData, pixels, &count).good()) << path;
    received[uid.c_str()] = {transfer_syntax, {pixels, pixels + count}};
  }
  return received;
}

std::vector<fs::path> FilesIn(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  return files;
}

class NodeCompressionTest : public NodeTest {
 protected:
  static void SetUpTestSuite() { DcmRLEDecoderRegistration::registerCodecs(); }
  fs::path Folder(const std::string& name) const { return directory_.path() / name; }
  void ExpectDelivered(const fs::path& folder, E_TransferSyntax transfer_syntax) {
    const auto stored = Read(*store_->DicomFiles("yamada-1"));
    const auto received = Read(FilesIn(folder));
    ASSERT_THAT(received, SizeIs(kSlices));
    for (const auto& [uid, image] : stored) {
      ASSERT_TRUE(received.contains(uid)) << uid;
      EXPECT_EQ(received.at(uid).transfer_syntax, transfer_syntax) << uid;
      EXPECT_EQ(received.at(uid).pixels, image.pixels) << uid;
    }
  }
};

TEST_F(NodeCompressionTest, EachPeerOfAMoveGetsItsOwn) {
  // All of them would take any transfer syntax.
  StoreScp plain(Folder("plain"), "+xa"), rle(Folder("rle"), "+xa"), jpeg_ls(Folder("jls"), "+xa");
  NodeOptions options;
  options.peers = {{.ae_title = "PLAIN", .host = "127.0.0.1", .port = plain.port()},
                   {.ae_title = "RLE",
                    .host = "127.0.0.1",
                    .port = rle.port(),
                    .compression = Compression::kRleLossless},
                   {.ae_title = "JLS",
                    .host = "127.0.0.1",
                    .port = jpeg_ls.port(),
                    .compression = Compression::kJpegLsLossless}};
  StartNode(options);
  for (const char* peer : {"PLAIN", "RLE", "JLS"}) {
    const ToolOutput output = Scu(absl::StrCat("movescu -S -d -aem ", peer), kFirstStudy);
    EXPECT_THAT(output.text, HasSubstr("Completed Suboperations       : 6")) << peer;
  }
  ExpectDelivered(Folder("plain"), EXS_LittleEndianExplicit);
  ExpectDelivered(Folder("rle"), EXS_RLELossless);
  ExpectDelivered(Folder("jls"), EXS_JPEGLSLossless);
}

TEST_F(NodeCompressionTest, APeerThatTakesNoneGetsThemAsTheyAre) {
  StoreScp scp(Folder("received"), "");
  NodeOptions options;
  options.peers = {{.ae_title = "DEST",
                    .host = "127.0.0.1",
                    .port = scp.port(),
                    .compression = Compression::kJpegLsLossless}};
  StartNode(options);
  EXPECT_EQ(Scu("movescu -S -aem DEST", kFirstStudy).exit_code, 0);
  ExpectDelivered(Folder("received"), EXS_LittleEndianExplicit);
}

/// Pulls the first study, proposing these transfer syntaxes in one context.
void Get(int port, const std::vector<const char*>& proposed, const fs::path& folder) {
  fs::create_directory(folder);
  DcmSCU scu;
  scu.setPeerHostName("127.0.0.1");
  scu.setPeerPort(static_cast<Uint16>(port));
  scu.setStorageMode(DCMSCU_STORAGE_BIT_PRESERVING);
  scu.setStorageDir(folder.c_str());
  OFList<OFString> explicit_vr, syntaxes;
  explicit_vr.push_back(UID_LittleEndianExplicitTransferSyntax);
  for (const char* syntax : proposed) syntaxes.push_back(syntax);
  scu.addPresentationContext(UID_GETStudyRootQueryRetrieveInformationModel, explicit_vr);
  scu.addPresentationContext(UID_CTImageStorage, syntaxes, ASC_SC_ROLE_SCP);
  ASSERT_TRUE(scu.initNetwork().good());
  ASSERT_TRUE(scu.negotiateAssociation().good());
  DcmDataset keys;
  keys.putAndInsertString(DCM_QueryRetrieveLevel, "STUDY");
  keys.putAndInsertString(DCM_StudyInstanceUID, "1.2.3.1");
  const auto context =
      scu.findPresentationContextID(UID_GETStudyRootQueryRetrieveInformationModel, "");
  OFList<RetrieveResponse*> responses;
  EXPECT_TRUE(scu.sendCGETRequest(context, &keys, &responses).good());
  ASSERT_FALSE(responses.empty());
  EXPECT_EQ(responses.back()->m_numberOfCompletedSubops, kSlices);
  for (RetrieveResponse* response : responses) delete response;
  scu.releaseAssociation();
}

TEST_F(NodeCompressionTest, AGetIsAnsweredAsThePeerTakesIt) {
  StartNode();
  struct Case {
    std::vector<const char*> proposed;
    E_TransferSyntax received;
  };
  // Uncompressed before JPEG-LS before RLE, whatever comes first in the proposal.
  const Case cases[] = {
      {{UID_JPEGLSLosslessTransferSyntax}, EXS_JPEGLSLossless},
      {{UID_RLELosslessTransferSyntax}, EXS_RLELossless},
      {{UID_RLELosslessTransferSyntax, UID_JPEGLSLosslessTransferSyntax}, EXS_JPEGLSLossless},
      {{UID_JPEGLSLosslessTransferSyntax, UID_LittleEndianImplicitTransferSyntax,
        UID_LittleEndianExplicitTransferSyntax},
       EXS_LittleEndianExplicit}};
  for (size_t i = 0; i < std::size(cases); ++i) {
    const fs::path folder = Folder(absl::StrCat("got", i));
    Get(node_->port(), cases[i].proposed, folder);
    ExpectDelivered(folder, cases[i].received);
  }
}

}  // namespace
}  // namespace isocenter::dicom
