// TLS in both roles, allowed callers, limits per caller, and what the audit trail gets of it all.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "server/crypto/certificates.h"
#include "server/dicom/net/callers.h"
#include "server/dicom/net/peer_addresses.h"
#include "server/dicom/net/tls.h"
#include "server/dicom/scp/places.h"
#include "tests/server/dicom/node_fixture.h"
#include "tests/server/dicom/store_scp.h"
#include "tests/server/fakes/eventually.h"
#include "tests/server/fakes/kept_events.h"
#include "tests/server/test_certificates.h"

namespace isocenter::dicom {
namespace {

using isocenter::testing::Eventually;

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class NodeSecurityTest : public NodeTest {
 protected:
  void StartWith(NodeOptions options) {
    options.audit = &audit_;
    options.tls_port = 0;
    StartNode(options);
  }
  /// Makes an authority and certificates of the node and of a peer.
  void MakeCertificates() {
    files_.MakeAuthority("ca");
    files_.Make("node", "ca");
    files_.Make("peer", "ca");
  }
  TlsIdentity NodeIdentity() const {
    return {.certificate_file = files_.Pem("node"), .private_key_file = files_.Key("node")};
  }
  std::shared_ptr<const TlsContext> Acceptor(const std::string& ca) const {
    auto context = TlsContext::ForAcceptor("tls", NodeIdentity(), ca);
    EXPECT_TRUE(context.ok()) << context.status();
    return context.ok() ? *context : nullptr;
  }
  std::shared_ptr<const TlsContext> Requestor(TlsContext::PeerCheck check) const {
    auto context = TlsContext::ForRequestor("tls", NodeIdentity(), std::move(check));
    EXPECT_TRUE(context.ok()) << context.status();
    return context.ok() ? *context : nullptr;
  }
  /// Options of DCMTK's tools for TLS with a certificate.
  std::string With(const std::string& name) const {
    return absl::StrCat("+tls ", files_.Key(name), " ", files_.Pem(name), " +cf ",
                        files_.Pem("ca"));
  }
  ToolOutput TlsScu(const std::string& tool, const std::string& arguments) {
    return RunTool(absl::StrCat(tool, " ", arguments, " 127.0.0.1 ", node_->tls_port()));
  }

  isocenter::testing::KeptEvents audit_;
  const TestCertificates files_{directory_.path() / "certificates"};
};

TEST_F(NodeSecurityTest, MutualTls) {
  MakeCertificates();
  StartWith({.tls = Acceptor(files_.Pem("ca"))});
  EXPECT_TRUE(Echoes());  // the plain port is open too
  EXPECT_EQ(TlsScu("echoscu", With("peer")).exit_code, 0);
  const ToolOutput found =
      TlsScu("findscu -S " + With("peer"), "-k QueryRetrieveLevel=STUDY -k PatientID=YAMADA");
  EXPECT_EQ(Count(found.text, "Find Response:"), 2) << found.text;
  node_->Stop();
  const auto queries = audit_.Of(audit::Action::kQuery);
  ASSERT_THAT(queries, SizeIs(1));
  EXPECT_EQ(queries[0].actor.certificate_subject, "CN=peer,O=Hospital");
  EXPECT_EQ(queries[0].actor.name, "FINDSCU");
  EXPECT_EQ(queries[0].actor.address, "127.0.0.1");
  EXPECT_EQ(queries[0].matches, 2);
  EXPECT_THAT(queries[0].query, Contains("(0010,0020)=YAMADA"));
}

TEST_F(NodeSecurityTest, CallersThatMutualTlsKeepsOut) {
  MakeCertificates();
  files_.MakeAuthority("others");
  files_.Make("stranger", "others");
  StartWith({.tls = Acceptor(files_.Pem("ca"))});
  EXPECT_NE(TlsScu("echoscu", "+tla +cf " + files_.Pem("ca")).exit_code, 0) << "no certificate";
  EXPECT_NE(TlsScu("echoscu", With("stranger")).exit_code, 0) << "of another authority";
  EXPECT_NE(TlsScu("echoscu", "").exit_code, 0) << "plain TCP";
  EXPECT_EQ(TlsScu("echoscu", With("peer")).exit_code, 0);
  node_->Stop();
  int refused = 0;
  for (const audit::Event& event : audit_.Of(audit::Action::kAssociate)) {
    refused += event.outcome == audit::Outcome::kRefused ? 1 : 0;
  }
  EXPECT_EQ(refused, 3);
}

TEST_F(NodeSecurityTest, CallersNeedNoCertificateWhereNoneIsAskedFor) {
  MakeCertificates();
  StartWith({.tls = Acceptor("")});
  EXPECT_EQ(TlsScu("echoscu", "+tla +cf " + files_.Pem("ca")).exit_code, 0);
}

TEST_F(NodeSecurityTest, TlsOnlyOpensNoPlainPort) {
  MakeCertificates();
  StartWith({.tls = Acceptor(files_.Pem("ca")), .tls_only = true});
  EXPECT_EQ(node_->port(), 0);
  EXPECT_EQ(TlsScu("echoscu", With("peer")).exit_code, 0);
}

TEST_F(NodeSecurityTest, SilentTlsConnectionIsClosed) {
  MakeCertificates();
  StartWith({.negotiation_seconds = 1, .tls = Acceptor(files_.Pem("ca"))});
  const int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {.sin_family = AF_INET,
                         .sin_port = htons(static_cast<uint16_t>(node_->tls_port()))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(silent, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  // The beginning of a handshake record that never ends.
  const char record[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01};
  ASSERT_EQ(send(silent, record, sizeof record, MSG_NOSIGNAL), 6);
  const timeval limit = {.tv_sec = 60};
  setsockopt(silent, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char byte;
  const absl::Time start = absl::Now();
  EXPECT_LE(recv(silent, &byte, 1, 0), 0);
  EXPECT_LT(absl::Now() - start, absl::Seconds(12));  // the default has 15 s
  close(silent);
  EXPECT_EQ(TlsScu("echoscu", With("peer")).exit_code, 0);
}

constexpr char kFirstStudy[] = "-k QueryRetrieveLevel=STUDY -k StudyInstanceUID=1.2.3.1";

class MoveOverTlsTest : public NodeSecurityTest {
 protected:
  /// C-MOVE of the first study to a storescp with the certificate "peer"; the tool's output.
  std::string Move(TlsContext::PeerCheck check) {
    const StoreScp scp(received_, With("peer"));
    StartWith({.peers = {{"DEST", "127.0.0.1", scp.port(), Requestor(std::move(check))}}});
    std::string text = Scu("movescu -S -d -aem DEST", kFirstStudy).text;
    node_->Stop();
    return text;
  }
  const fs::path received_ = directory_.path() / "received";
};

TEST_F(MoveOverTlsTest, Delivers) {
  MakeCertificates();
  const auto peer = crypto::ReadCertificates("peer", files_.Pem("peer"));
  ASSERT_TRUE(peer.ok());
  EXPECT_THAT(Move({.ca_file = files_.Pem("ca"),
                    .certificate_sha256 = peer->front().sha256,
                    .host = "127.0.0.1"}),
              HasSubstr("Completed Suboperations       : 6"));
  const auto retrieved = audit_.Of(audit::Action::kRetrieve);
  ASSERT_THAT(retrieved, SizeIs(1));
  EXPECT_EQ(retrieved[0].outcome, audit::Outcome::kSuccess);
  EXPECT_EQ(retrieved[0].destination, "DEST");
  EXPECT_EQ(retrieved[0].instances, 6);
  EXPECT_THAT(retrieved[0].patient_ids, ElementsAre("YAMADA"));
  EXPECT_THAT(retrieved[0].study_uids, ElementsAre("1.2.3.1"));
}

TEST_F(MoveOverTlsTest, PeerOfAnotherAuthorityGetsNothing) {
  MakeCertificates();
  files_.MakeAuthority("others");
  EXPECT_THAT(Move({.ca_file = files_.Pem("others")}),
              HasSubstr("Failed Suboperations          : 6"));
  EXPECT_FALSE(fs::exists(received_) && !fs::is_empty(received_));
}

TEST_F(MoveOverTlsTest, PeerWithAnotherCertificateGetsNothing) {
  MakeCertificates();
  EXPECT_THAT(Move({.ca_file = files_.Pem("ca"), .certificate_sha256 = std::string(64, '0')}),
              HasSubstr("Failed Suboperations          : 6"));
}

TEST_F(MoveOverTlsTest, PeerOfAnotherNameGetsNothing) {
  MakeCertificates();
  files_.Make("peer", "ca", 2, "192.0.2.1");
  EXPECT_THAT(Move({.ca_file = files_.Pem("ca"), .host = "127.0.0.1"}),
              HasSubstr("Failed Suboperations          : 6"));
}

TEST_F(NodeSecurityTest, FilesAreCheckedBeforeTheStart) {
  MakeCertificates();
  files_.Make("old", "ca", -1);
  const auto message = [&](TlsIdentity identity, const std::string& ca) {
    return std::string(TlsContext::ForAcceptor("dicom_node.tls", identity, ca).status().message());
  };
  const TlsIdentity good = NodeIdentity();
  EXPECT_EQ(message(good, files_.Pem("ca")), "");
  EXPECT_THAT(message({good.certificate_file, files_.Key("peer")}, ""),
              HasSubstr("dicom_node.tls.private_key_file is"));
  EXPECT_THAT(message({files_.Pem("old"), files_.Key("old")}, ""), HasSubstr("has expired"));
  EXPECT_THAT(message(good, "/nowhere/ca.pem"),
              HasSubstr("dicom_node.tls.ca_file is /nowhere/ca.pem"));
  EXPECT_THAT(Acceptor(files_.Pem("ca"))->expiries(), SizeIs(2));
}

TEST_F(NodeSecurityTest, OnlyAllowedCallersAssociate) {
  StartWith({.allowed_callers = {{"WORKSTATION", "127.0.0.0/8"}, {"", "10.0.0.1"}}});
  EXPECT_EQ(Scu("echoscu", "-aet WORKSTATION").exit_code, 0);
  const ToolOutput refused = Scu("echoscu", "-aet STRANGER");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.text, HasSubstr("Calling AE Title Not Recognized"));
  node_->Stop();
  const auto associations = audit_.Of(audit::Action::kAssociate);
  ASSERT_THAT(associations, SizeIs(2));
  EXPECT_EQ(associations[1].outcome, audit::Outcome::kRefused);
  EXPECT_EQ(associations[1].actor.name, "STRANGER");
}

TEST_F(NodeSecurityTest, QueriesThatAreNoneAreRecorded) {
  StartWith({});
  Scu("findscu -S", "-k QueryRetrieveLevel=NOWHERE");
  Scu("getscu -S", "-k QueryRetrieveLevel=NOWHERE");
  node_->Stop();
  const auto queries = audit_.Of(audit::Action::kQuery);
  ASSERT_THAT(queries, SizeIs(1));
  EXPECT_EQ(queries[0].outcome, audit::Outcome::kRefused);
  EXPECT_THAT(queries[0].detail, HasSubstr("INVALID_ARGUMENT"));
  const auto retrieved = audit_.Of(audit::Action::kRetrieve);
  ASSERT_THAT(retrieved, SizeIs(1));
  EXPECT_EQ(retrieved[0].outcome, audit::Outcome::kFailure);
}

TEST(Callers, TitlesAndNetworks) {
  const auto allowed = [](const std::vector<Caller>& callers, const std::string& title,
                          const std::string& address, bool is_who_it_says = true) {
    return IsAllowed(callers, title, address, [=] { return is_who_it_says; });
  };
  EXPECT_TRUE(allowed({}, "ANY", "10.1.2.3", false));
  const std::vector<Caller> callers = {{"A", ""}, {"B", "10.1.0.0/16"}, {"", "192.0.2.7"}};
  for (const Caller& caller : callers) EXPECT_TRUE(CheckCaller("caller", caller).ok());
  EXPECT_TRUE(allowed(callers, "A", "203.0.113.9"));
  EXPECT_FALSE(allowed(callers, "A", "203.0.113.9", false));
  EXPECT_TRUE(allowed(callers, "B", "10.1.255.255", false));
  EXPECT_FALSE(allowed(callers, "B", "10.2.0.0"));
  EXPECT_TRUE(allowed(callers, "ANY", "192.0.2.7", false));
  EXPECT_FALSE(allowed(callers, "ANY", "192.0.2.8"));
  EXPECT_FALSE(allowed(callers, "B", ""));
  EXPECT_TRUE(allowed({{"", "0.0.0.0/0"}}, "X", "8.8.8.8"));
  EXPECT_THAT(std::string(CheckCaller("allowed_caller[2]", {"", ""}).message()),
              HasSubstr("allowed_caller[2] has neither ae_title nor address"));
  for (const Caller& wrong :
       {Caller{"A", "10.1"}, Caller{"A", "10.1.2.3/33"}, Caller{"A", "host"}}) {
    EXPECT_THAT(std::string(CheckCaller("caller", wrong).message()),
                HasSubstr(absl::StrCat("caller.address is '", wrong.address, "'; legal is")));
  }
  EXPECT_THAT(std::string(CheckCaller("caller", {"SEVENTEEN LETTERS", ""}).message()),
              HasSubstr("caller.ae_title is 'SEVENTEEN LETTERS'; legal is"));
}

// Its title alone let everybody in who claimed it.
TEST_F(NodeSecurityTest, TitleOfAPeerIsHeldAgainstItsAddress) {
  StartWith({.peers = {{.ae_title = "PACS", .host = "192.0.2.1", .port = 104},
                       {.ae_title = "HERE", .host = "127.0.0.1", .port = 104},
                       {.ae_title = "NAMED", .host = "localhost", .port = 104}},
             .allowed_callers = {{"PACS", ""}, {"HERE", ""}, {"NAMED", ""}, {"OTHER", ""}}});
  const ToolOutput refused = Scu("echoscu", "-aet PACS");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.text, HasSubstr("Calling AE Title Not Recognized"));
  EXPECT_EQ(Scu("echoscu", "-aet HERE").exit_code, 0);
  EXPECT_EQ(Scu("echoscu", "-aet OTHER").exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Scu("echoscu", "-aet NAMED").exit_code == 0; }));
}

TEST(PeerAddressesTest, NamesAreResolvedAndWhatWasKnownStays) {
  const PeerAddresses peers({{.ae_title = "A", .host = "10.0.0.1"},
                             {.ae_title = "B", .host = "b.example"},
                             {.ae_title = "C", .host = "unknown.example"}},
                            [](const std::string& host) -> std::set<std::string> {
                              if (host == "b.example") return {"10.0.0.2", "10.0.0.3"};
                              return {};
                            });
  EXPECT_TRUE(peers.Contain("A", "10.0.0.1"));
  EXPECT_FALSE(peers.Contain("A", "10.0.0.2"));
  EXPECT_TRUE(Eventually([&] { return peers.Contain("B", "10.0.0.3"); }));
  EXPECT_TRUE(peers.Contain("10.0.0.2"));
  EXPECT_FALSE(peers.Contain("10.0.0.4"));
  EXPECT_FALSE(peers.Contain("C", ""));
}

TEST(Places, NoAddressGetsAllAndPeersHaveTheirs) {
  using Kind = Admission::Kind;
  NodeOptions options{.peers = {{.ae_title = "PACS", .host = "10.0.0.1"}},
                      .max_associations = 32,
                      .max_associations_per_address = 16};
  const auto kind = [&](const Occupancy& now, bool is_peer) {
    return Admit(now, is_peer, options).kind;
  };
  EXPECT_EQ(kind({}, false), Kind::kServe);
  EXPECT_EQ(kind({.served = 15, .served_of_others = 15, .served_of_address = 15}, false),
            Kind::kServe);
  const Occupancy greedy{.served = 16, .served_of_others = 16, .served_of_address = 16};
  EXPECT_EQ(kind(greedy, false), Kind::kReject);
  EXPECT_EQ(Admit(greedy, false, options).reason, "the 16 associations of its address are in use");
  // Others have 24 places, peers all.
  const Occupancy crowded{.served = 24, .served_of_others = 24};
  EXPECT_EQ(kind(crowded, false), Kind::kReject);
  EXPECT_EQ(kind(crowded, true), Kind::kServe);
  EXPECT_EQ(kind({.served = 32, .served_of_others = 24}, true), Kind::kReject);
  // One address does not take all rejections either.
  EXPECT_EQ(kind({.served = 32, .rejected = 4, .rejected_of_address = 4}, false), Kind::kClose);
  EXPECT_EQ(kind({.served = 32, .rejected = 15}, true), Kind::kReject);
  EXPECT_EQ(kind({.served = 32, .rejected = 16}, true), Kind::kClose);
  options.peers.clear();
  EXPECT_EQ(kind(crowded, false), Kind::kServe);
}

TEST(CallerCounts, LimitsEachCallerByItself) {
  CallerCounts counts(1);
  const CallerCounts::Place first(counts, "A", "10.0.0.1");
  EXPECT_TRUE(first.taken());
  {
    const CallerCounts::Place second(counts, "A", "10.0.0.1"), other(counts, "A", "10.0.0.2");
    EXPECT_FALSE(second.taken());
    EXPECT_TRUE(other.taken());
  }
  const CallerCounts::Place again(counts, "A", "10.0.0.2");
  EXPECT_TRUE(again.taken());
}

}  // namespace
}  // namespace isocenter::dicom
