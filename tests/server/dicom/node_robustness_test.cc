// Options, limits, hostile peers and the end of the node.
#include <arpa/inet.h>
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/scu.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/server/dicom/node_fixture.h"
#include "tests/server/dicom/raw_messages.h"
#include "tests/server/fakes/eventually.h"

namespace isocenter::dicom {
namespace {

using isocenter::testing::Eventually;
using ::testing::HasSubstr;
using ::testing::Not;

class NodeRobustnessTest : public NodeTest {
 protected:
  /// `from`: an address of loopback.
  int Connect(const char* from = "127.0.0.1") const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return -1;
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from, &own.sin_addr);
    EXPECT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(node_->port()));
    EXPECT_EQ(connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  /// Associates for verification and queries; the association stays open.
  std::unique_ptr<DcmSCU> OpenAssociation() const {
    auto scu = std::make_unique<DcmSCU>();
    scu->setPeerHostName("127.0.0.1");
    scu->setPeerPort(static_cast<Uint16>(node_->port()));
    OFList<OFString> transfer_syntaxes;
    transfer_syntaxes.push_back(UID_LittleEndianExplicitTransferSyntax);
    scu->addPresentationContext(UID_VerificationSOPClass, transfer_syntaxes);
    scu->addPresentationContext(UID_FINDStudyRootQueryRetrieveInformationModel, transfer_syntaxes);
    EXPECT_TRUE(scu->initNetwork().good());
    const OFCondition condition = scu->negotiateAssociation();
    EXPECT_TRUE(condition.good()) << condition.text();
    return scu;
  }
};

/// Whether the peer closes within the time.
bool IsClosedWithin(int socket, int milliseconds) {
  pollfd watched = {socket, POLLIN, 0};
  char byte;
  return poll(&watched, 1, milliseconds) == 1 && recv(socket, &byte, 1, 0) <= 0;
}

int OpenDescriptors() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                        std::filesystem::directory_iterator()));
}

TEST_F(NodeRobustnessTest, ListensOnTheGivenAddressOnly) {
  StartNode();
  std::ifstream table("/proc/net/tcp");
  const std::string text{std::istreambuf_iterator<char>(table), {}};
  EXPECT_THAT(text, HasSubstr(absl::StrFormat("0100007F:%04X 00000000:0000 0A", node_->port())));
  EXPECT_THAT(text,
              Not(HasSubstr(absl::StrFormat("00000000:%04X 00000000:0000 0A", node_->port()))));
}

TEST_F(NodeRobustnessTest, PortThatIsTaken) {
  StartNode();
  NodeOptions options;
  options.port = node_->port();
  const auto second = Node::Start(options, *archive_, nullptr);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(absl::StrCat(options.port)));
}

TEST_F(NodeRobustnessTest, OptionsAreChecked) {
  const auto message = [&](const NodeOptions& options) {
    const absl::Status status = Node::Start(options, *archive_, nullptr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message({.ae_title = "SEVENTEEN_LETTERS"}), HasSubstr("SEVENTEEN_LETTERS"));
  EXPECT_THAT(message({.ae_title = ""}), HasSubstr("AE title"));
  EXPECT_THAT(message({.address = "not an address"}), HasSubstr("not an address"));
  EXPECT_THAT(message({.port = 70000}), HasSubstr("70000"));
  EXPECT_THAT(message({.peers = {{"A", "h", 0}}}), HasSubstr("peer port"));
  EXPECT_THAT(message({.peers = {{"A", "h", 1}, {"A", "h", 2}}}), HasSubstr("twice"));
  EXPECT_THAT(message({.max_associations = 0}), HasSubstr("max_associations"));
}

TEST_F(NodeRobustnessTest, CalledTitleIsCheckedWhereAsked) {
  StartNode({.ae_title = "MYNODE", .check_called_ae_title = true});
  EXPECT_EQ(Scu("echoscu", "-aec MYNODE").exit_code, 0);
  const ToolOutput output = Scu("echoscu", "-aec OTHER");
  EXPECT_NE(output.exit_code, 0);
  EXPECT_THAT(output.text, HasSubstr("Called AE Title Not Recognized"));
  node_->Stop();  // all events are in
  EXPECT_EQ(events_.count(NodeOperation::kAssociation, NodeOutcome::kRejected), 1);
}

TEST_F(NodeRobustnessTest, AssociationsBeyondTheLimitAreRejected) {
  StartNode({.max_associations = 2});
  auto first = OpenAssociation();
  auto second = OpenAssociation();
  const ToolOutput output = Scu("echoscu");
  EXPECT_NE(output.exit_code, 0);
  EXPECT_THAT(output.text, HasSubstr("Local Limit Exceeded"));
  first->releaseAssociation();
  second->releaseAssociation();
  // The node's threads end a moment after they have agreed to.
  EXPECT_TRUE(Eventually([&] { return Echoes(); }));
}

// Silent connections of one address held all places, so that a peer was refused.
TEST_F(NodeRobustnessTest, OneAddressDoesNotGetAllPlaces) {
  StartNode({.peers = {{.ae_title = "PACS", .host = "127.0.0.2", .port = 104}},
             .max_associations = 8,
             .max_associations_per_address = 4});
  std::vector<int> silent;
  for (int i = 0; i < 30; ++i) silent.push_back(Connect());
  // Those that are rejected for one more are closed at once.
  EXPECT_TRUE(IsClosedWithin(silent.back(), 12'000));
  EXPECT_FALSE(Echoes());
  const int peer = Connect("127.0.0.2");
  const std::string request = AssociateRequest("1.2.840.10008.1.1", "1.2.840.10008.1.2");
  ASSERT_EQ(send(peer, request.data(), request.size(), MSG_NOSIGNAL), ssize_t(request.size()));
  char type = 0;
  EXPECT_EQ(recv(peer, &type, 1, 0), 1);
  EXPECT_EQ(type, 2);  // it is accepted
  close(peer);
  for (const int socket : silent) close(socket);
  EXPECT_TRUE(Eventually([&] { return Echoes(); }));
}

TEST_F(NodeRobustnessTest, ServicesOfOthersAreNotAccepted) {
  StartNode();

  const ToolOutput output = RunTool(absl::StrCat("storescu 127.0.0.1 ", node_->port(), " ",
                                                 (*store_->DicomFiles("doe"))[0].string()));
  EXPECT_NE(output.exit_code, 0);
  EXPECT_TRUE(Echoes());
}

TEST_F(NodeRobustnessTest, SilentAssociationIsAborted) {
  StartNode({.idle_seconds = 1});
  auto scu = OpenAssociation();
  EXPECT_TRUE(Eventually(
      [&] { return events_.count(NodeOperation::kAssociation, NodeOutcome::kFailure) == 1; }));
  EXPECT_FALSE(scu->sendECHORequest(0).good());
}

TEST_F(NodeRobustnessTest, SilentConnectionHoldsUpNobodyAndIsClosed) {
  StartNode({.negotiation_seconds = 1});
  const int silent = Connect();
  EXPECT_TRUE(Echoes());
  EXPECT_TRUE(IsClosedWithin(silent, 12'000));
  close(silent);
}

TEST_F(NodeRobustnessTest, ConnectionThatTricklesIsClosed) {
  StartNode({.negotiation_seconds = 1});
  const int slow = Connect();
  ASSERT_GE(slow, 0);
  // The beginning of an association request of 1000 bytes.
  std::string request("\x01\x00\x00\x00\x03\xe8", 6);
  request.resize(206);
  const absl::Time start = absl::Now();
  bool closed = false;
  for (size_t i = 0; i < request.size() && !closed; ++i) {
    closed = send(slow, &request[i], 1, MSG_NOSIGNAL) < 0 || IsClosedWithin(slow, 100);
  }
  EXPECT_TRUE(closed);
  EXPECT_LT(absl::Now() - start, absl::Seconds(12));  // the default has 15 s
  close(slow);
}

TEST_F(NodeRobustnessTest, GarbageLeavesItServing) {
  StartNode();
  ASSERT_TRUE(Echoes());
  const int before = OpenDescriptors();
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const int socket = Connect();
    std::string bytes(random() % 3000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    // Every other time it begins like an association request, with a length that is too great, too
    // small or right.
    if (i % 2 == 0 && bytes.size() > 6) {
      bytes[0] = 1;
      bytes[1] = 0;
      const uint32_t length =
          i % 3 == 0 ? 0x7fffffff : htonl(static_cast<uint32_t>(bytes.size() - 6) >> (i % 3 - 1));
      memcpy(&bytes[2], &length, sizeof length);
    }
    (void)!send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    close(socket);
  }
  // Connections are counted as they end, and forgotten when the next one comes.
  EXPECT_TRUE(Eventually([&] { return Echoes() && OpenDescriptors() <= before + 2; }))
      << OpenDescriptors() << " files are open, " << before << " were";
}

TEST_F(NodeRobustnessTest, EndlessIdentifierIsCutOff) {
  StartNode();
  auto scu = OpenAssociation();
  DcmDataset keys;
  keys.putAndInsertString(DCM_QueryRetrieveLevel, "STUDY");
  keys.putAndInsertString(DCM_ImageComments, std::string(8 << 20, 'x').c_str());
  OFList<QRResponse*> responses;
  EXPECT_FALSE(scu->sendFINDRequest(3, &keys, &responses).good());
  for (QRResponse* response : responses) delete response;
  EXPECT_TRUE(Echoes());
}

TEST_F(NodeRobustnessTest, StopEndsOpenAssociationsAtOnce) {
  StartNode();
  auto scu = OpenAssociation();
  const int silent = Connect();
  ASSERT_TRUE(Echoes());
  const absl::Time start = absl::Now();
  node_->Stop();
  EXPECT_LT(absl::Now() - start, absl::Seconds(12));  // the defaults have 15 s and a minute
  EXPECT_FALSE(scu->sendECHORequest(0).good());
  EXPECT_TRUE(IsClosedWithin(silent, 12'000));
  close(silent);
  node_->Stop();  // again
}

}  // namespace
}  // namespace isocenter::dicom
