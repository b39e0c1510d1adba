#include "server/config/replication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/config/peers.h"
#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

using ::testing::HasSubstr;

/// What is wrong with the configuration of recon1; empty: nothing.
std::string Complaint(const std::string& replication, const std::string& more = "") {
  auto config = ParseServerConfig(
      absl::StrCat("cluster { node_name: 'recon1' node: 'recon1' node: 'recon2' ",
                   replication.empty() ? "" : absl::StrCat("replication { ", replication, " }"),
                   " }\n", more),
      "test");
  if (!config.ok()) return config.status().ToString();
  ApplyDefaults(*config);
  return std::string(ValidateServerConfig(*config).message());
}

constexpr char kKeeper[] = "keeper { node: 'recon2' address: '127.0.0.1:50051' }";
constexpr char kReplicated[] = "spool { sync: SYNC_POLICY_REPLICATED }";

TEST(ReplicationConfigTest, APairOnThisMachineIsLegal) {
  EXPECT_EQ(Complaint(kKeeper, kReplicated), "");
  EXPECT_EQ(Complaint("origin { node: 'recon2' }"), "");
  EXPECT_EQ(Complaint(absl::StrCat(kKeeper, " origin { node: 'recon2' }"), kReplicated), "");
}

TEST(ReplicationConfigTest, ThePolicyAndTheKeeperBelongTogether) {
  EXPECT_THAT(Complaint("", kReplicated),
              HasSubstr("spool.sync is SYNC_POLICY_REPLICATED; legal is another one, or "
                        "cluster.replication.keeper"));
  EXPECT_THAT(Complaint(kKeeper), HasSubstr("spool.sync is SYNC_POLICY_INTERVAL; legal is "
                                            "SYNC_POLICY_REPLICATED"));
}

/// What is wrong with recon1's cluster.peer and peer_tls.
std::string PeerComplaint(const std::string& peers) {
  auto config = ParseServerConfig(
      absl::StrCat("cluster { node_name: 'recon1' node: 'recon1' node: 'recon2' node: 'recon3' ",
                   peers, " }"),
      "test");
  if (!config.ok()) return config.status().ToString();
  ApplyDefaults(*config);
  return std::string(ValidateServerConfig(*config).message());
}

TEST(PeerConfigTest, OtherNodesAreAskedOnceAndSafely) {
  EXPECT_EQ(PeerComplaint("peer { node: 'recon2' address: '127.0.0.1:1' }"), "");
  EXPECT_EQ(PeerComplaint("peer { node: 'recon2' address: '10.0.0.2:50051' } peer_tls { ca_file: "
                          "'a' certificate_file: 'b' private_key_file: 'c' }"),
            "");
  EXPECT_THAT(PeerComplaint("peer { node: 'recon9' address: '127.0.0.1:1' }"),
              HasSubstr("cluster.peer[0].node is 'recon9'; legal is a name in cluster.node"));
  EXPECT_THAT(PeerComplaint("peer { node: 'recon1' address: '127.0.0.1:1' }"),
              HasSubstr("cluster.peer[0].node is 'recon1'"));
  EXPECT_THAT(PeerComplaint("peer { node: 'recon2' address: 'recon2' }"),
              HasSubstr("cluster.peer[0].address is"));
  EXPECT_THAT(PeerComplaint("peer { node: 'recon2' address: '127.0.0.1:1' } "
                            "peer { node: 'recon2' address: '127.0.0.1:2' }"),
              HasSubstr("cluster.peer[1].node is 'recon2'; legal is each node once"));
  EXPECT_THAT(PeerComplaint("peer { node: 'recon2' address: '10.0.0.2:50051' }"),
              HasSubstr("cluster.peer[0].address is beyond this machine"));
  EXPECT_THAT(PeerComplaint("peer_tls { ca_file: 'a' }"),
              HasSubstr("cluster.peer_tls.ca_file is 'a'; legal is all of"));
}

TEST(PeerConfigTest, TheKeeperIsAPeerAndItsFilesAreThoseOfAll) {
  v1::ClusterConfig cluster;
  EXPECT_TRUE(PeersOf(cluster).empty());
  v1::ReplicaKeeperConfig& keeper = *cluster.mutable_replication()->mutable_keeper();
  keeper.set_node("recon2");
  keeper.set_address("recon2:50051");
  keeper.set_ca_file("ca.pem");
  ASSERT_EQ(PeersOf(cluster).size(), 1u);
  EXPECT_EQ(PeersOf(cluster)[0].address(), "recon2:50051");
  EXPECT_EQ(PeerTlsOf(cluster).ca_file(), "ca.pem");
  v1::PeerConfig& named = *cluster.add_peer();
  named.set_node("recon2");
  named.set_address("10.0.0.2:50051");
  cluster.mutable_peer_tls()->set_ca_file("other.pem");
  ASSERT_EQ(PeersOf(cluster).size(), 1u);
  EXPECT_EQ(PeersOf(cluster)[0].address(), "10.0.0.2:50051");
  EXPECT_EQ(PeerTlsOf(cluster).ca_file(), "other.pem");
}

TEST(ReplicationConfigTest, TheKeeperIsAnotherNodeThatIsReachedSafely) {
  EXPECT_THAT(Complaint("keeper { node: 'recon1' address: '127.0.0.1:1' }", kReplicated),
              HasSubstr("cluster.replication.keeper.node is 'recon1'; legal is a name in "
                        "cluster.node (recon1, recon2) other than this node's"));
  EXPECT_THAT(Complaint("keeper { node: 'recon2' address: 'recon2' }", kReplicated),
              HasSubstr("cluster.replication.keeper.address is"));
  EXPECT_THAT(Complaint("keeper { node: 'recon2' address: '10.0.0.2:50051' }", kReplicated),
              HasSubstr("would cross the network in plain text"));
  EXPECT_THAT(
      Complaint("keeper { node: 'recon2' address: '127.0.0.1:1' ca_file: 'ca' }", kReplicated),
      HasSubstr("all of ca_file, certificate_file and private_key_file, or none"));
  EXPECT_THAT(Complaint("keeper { node: 'recon2' address: '127.0.0.1:1' patience_seconds: 61 }",
                        kReplicated),
              HasSubstr("cluster.replication.keeper.patience_seconds is 61"));
}

TEST(ReplicationConfigTest, OriginsAreKnownByTheirCertificates) {
  constexpr char kTls[] =
      "grpc_tls { certificate_file: 'c' private_key_file: 'k' client_ca_file: 'ca' }";
  EXPECT_THAT(Complaint("origin { node: 'recon2' }", kTls),
              HasSubstr("cluster.replication.origin[0].certificate_subject is ''"));
  EXPECT_EQ(Complaint("origin { node: 'recon2' certificate_subject: 'CN=recon2' }", kTls), "");
  EXPECT_THAT(Complaint("origin { node: 'recon2' certificate_subject: 'CN=recon2' }"),
              HasSubstr("grpc_tls.client_ca_file, by which it is checked"));
  EXPECT_THAT(Complaint("origin { node: 'recon2' }", "web { tokens_file: 'tokens' }"),
              HasSubstr("grpc_tls.client_ca_file, by which it is checked"));
  EXPECT_THAT(Complaint("origin { node: 'recon2' } origin { node: 'recon2' }"),
              HasSubstr("cluster.replication.origin[1].node is 'recon2'; legal is each node once"));
  EXPECT_THAT(Complaint("origin { node: 'recon3' }"),
              HasSubstr("cluster.replication.origin[0].node is 'recon3'"));
}

TEST(ReplicationConfigTest, FiguresHaveRanges) {
  EXPECT_THAT(Complaint("take_over_seconds: 2.9"),
              HasSubstr("cluster.replication.take_over_seconds is 2.9"));
  EXPECT_THAT(Complaint("keep_seconds: 59"), HasSubstr("cluster.replication.keep_seconds is 59"));
  EXPECT_THAT(Complaint("capacity_bytes: 1000"),
              HasSubstr("cluster.replication.capacity_bytes is 1000"));
}

}  // namespace
}  // namespace isocenter::config
