// Messages that no parser of the node's library would survive.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcistrmb.h>
#include <dcmtk/dcmdata/dctk.h>
#include <pthread.h>

#include <sstream>

#include "gmock/gmock.h"
#include "server/dicom/net/library.h"
#include "tests/server/dicom/node_fixture.h"
#include "tests/server/dicom/raw_connection.h"
#include "tests/server/dicom/raw_messages.h"

namespace isocenter::dicom {
namespace {

constexpr char kStudyRootFind[] = "1.2.840.10008.5.1.4.1.2.2.1";
constexpr char kEcho[] = "1.2.840.10008.1.1";
constexpr char kCommitment[] = "1.2.840.10008.1.20.1";
constexpr char kExplicitSyntax[] = "1.2.840.10008.1.2.1", kImplicitSyntax[] = "1.2.840.10008.1.2";
constexpr int kFindRequest = 0x0020, kEchoRequest = 0x0030, kEventReport = 0x0100;
constexpr int kAbort = 7, kAccept = 2, kData = 4;
// In 1 MiB there is room for so many, without delimiters.
constexpr int kDeep = 50000;

/// A data set that is one value in explicit VR, and nested in implicit VR; as much as one PDU
/// holds.
std::string ValueThatIsDeep() {
  const size_t skipped = 'O' + ('B' << 8) - 4;  // where the VR is taken for a length
  std::string bytes = std::string(skipped, ' ') + NestedSequences(7100, true, /*delimited=*/false);
  bytes.resize(bytes.size() + bytes.size() % 2);
  return DataSet(Explicit(0x00090000, "OB", bytes), 131000);
}

class NodeHostileTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    StartNode();
  }
  RawConnection Associate(const std::string& sop_class, const std::string& syntax) {
    RawConnection connection = RawConnection::To(node_->port());
    EXPECT_TRUE(connection.Send(AssociateRequest(sop_class, syntax)));
    EXPECT_EQ(connection.Receive().type, kAccept);
    return connection;
  }
  /// What the node answers to bytes: the type of a PDU; 0 where it closes without one.
  int Answer(RawConnection& connection, const std::string& bytes) {
    (void)connection.Send(bytes);  // it may be cut off before all is sent
    return connection.Receive().type;
  }
};

TEST_F(NodeHostileTest, DeepIdentifier) {
  for (const bool implicit_vr : {false, true}) {
    for (const int levels : {5625, kDeep}) {
      RawConnection connection =
          Associate(kStudyRootFind, implicit_vr ? kImplicitSyntax : kExplicitSyntax);
      EXPECT_NE(
          Answer(connection,
                 DataPdu(true, true,
                         Command(kStudyRootFind, kFindRequest, true, {{0x0700, Bytes(0, 2)}})) +
                     DataSet(NestedSequences(levels, implicit_vr, /*delimited=*/false))),
          kData);
      EXPECT_TRUE(Echoes());
    }
  }
}

TEST_F(NodeHostileTest, DeepestIdentifierIsServed) {
  RawConnection connection = Associate(kStudyRootFind, kExplicitSyntax);
  const std::string keys = Explicit(0x00080052, "CS", "STUDY ") + NestedSequences(16, false) +
                           Explicit(0x0020000d, "UI", "");
  EXPECT_EQ(Answer(connection,
                   DataPdu(true, true,
                           Command(kStudyRootFind, kFindRequest, true, {{0x0700, Bytes(0, 2)}})) +
                       DataSet(keys)),
            kData);
}

/// Reads, converts and writes the deepest data set that is let through.
void* HandleDeepest(void* good) {
  const std::string bytes = NestedSequences(16, false);
  DcmInputBufferStream stream;
  stream.setBuffer(bytes.data(), static_cast<offile_off_t>(bytes.size()));
  stream.setEos();
  DcmDataset data_set;
  data_set.transferInit();
  const bool read = data_set.read(stream, EXS_LittleEndianExplicit).good();
  data_set.transferEnd();
  (void)data_set.convertToUTF8();
  std::ostringstream text;
  data_set.print(text);
  *static_cast<bool*>(good) = read && DcmDataset(data_set).card() > 0;
  return nullptr;
}

// A thread has 8 MiB.
TEST(DeepestDataSet, NeedsLittleStack) {
  ConfigureLibrary();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 << 10);
  pthread_t thread;
  bool good = false;
  ASSERT_EQ(pthread_create(&thread, &attributes, HandleDeepest, &good), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_TRUE(good);
}

TEST_F(NodeHostileTest, DeepReportOfCommitment) {
  RawConnection connection = Associate(kCommitment, kExplicitSyntax);
  EXPECT_NE(Answer(connection, DataPdu(true, true,
                                       Command(kCommitment, kEventReport, true,
                                               {{0x1000, UidValue("1.2.840.10008.1.20.1.1")},
                                                {0x1002, Bytes(1, 2)}})) +
                                   DataSet(NestedSequences(kDeep, false, /*delimited=*/false))),
            kData);
  EXPECT_TRUE(Echoes());
}

TEST_F(NodeHostileTest, DeepCommand) {
  RawConnection connection = Associate(kEcho, kImplicitSyntax);
  const std::string command = NestedSequences(kDeep, true, /*delimited=*/false);
  std::string pdus;
  for (size_t at = 0; at < command.size(); at += 16000) {
    pdus += DataPdu(true, at + 16000 >= command.size(), command.substr(at, 16000));
  }
  EXPECT_NE(Answer(connection, pdus), kData);
  EXPECT_TRUE(Echoes());
}

// DCMTK reads a data set where a command belongs as one, before it looks at what it is.
TEST_F(NodeHostileTest, DataSetInPlaceOfACommand) {
  const std::string echo = DataPdu(true, true, Command(kEcho, kEchoRequest, false));
  for (const std::string& before : {std::string(), echo}) {
    RawConnection connection = Associate(kEcho, kExplicitSyntax);
    EXPECT_TRUE(connection.Send(before));
    if (!before.empty()) {
      EXPECT_EQ(connection.Receive().type, kData);
    }
    EXPECT_NE(Answer(connection, ValueThatIsDeep()), kData);
    EXPECT_TRUE(Echoes());
  }
}

TEST_F(NodeHostileTest, RequestBeforeOneIsAnswered) {
  RawConnection connection = Associate(kStudyRootFind, kExplicitSyntax);
  const std::string find =
      DataPdu(true, true, Command(kStudyRootFind, kFindRequest, true, {{0x0700, Bytes(0, 2)}}));
  const std::string keys =
      DataSet(Explicit(0x00080052, "CS", "STUDY ") + Explicit(0x0020000d, "UI", ""));
  (void)connection.Send(find + keys + find + ValueThatIsDeep());
  while (connection.Receive().type == kData) {
  }
  EXPECT_TRUE(Echoes());
}

// DCMTK would keep what it has read of them, which the leak checker of the preset asan sees.
TEST_F(NodeHostileTest, MalformedAssociationRequests) {
  std::string contexts;
  for (int i = 0; i < 120; ++i) {
    contexts += PduItem(0x20, Bytes(static_cast<uint32_t>(2 * i + 1), 4) + PduItem(0x30, kEcho) +
                                  PduItem(0x40, kImplicitSyntax));
  }
  const std::string identity =
      PduItem(0x58, Bytes(1, 2) + BigEndian(30000, 2) + std::string(30000, 'a') + BigEndian(0, 2));
  for (const std::string& body :
       {AssociateBegin() + contexts + "\x20", AssociateBegin() + PduItem(0x20, ""),
        AssociateBegin() + contexts + UserInformation(identity + identity),
        AssociateBegin() + UserInformation() + UserInformation(), std::string("short")}) {
    RawConnection connection = RawConnection::To(node_->port());
    EXPECT_NE(Answer(connection, Pdu(1, body)), kAccept);
  }
  // A length that nobody has.
  RawConnection connection = RawConnection::To(node_->port());
  EXPECT_NE(Answer(connection, Bytes(1, 2) + BigEndian(0xfffffff0, 4)), kAccept);
  EXPECT_TRUE(Echoes());
}

}  // namespace
}  // namespace isocenter::dicom
