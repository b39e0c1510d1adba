// What a node finds out about the others, and what it believes of what they say.
#include "server/rpc/peers/peer_watch.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "isocenter/v1/node.grpc.pb.h"
#include "tests/server/fakes/eventually.h"

namespace isocenter::rpc {
namespace {

using isocenter::testing::Eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Answers as it is told to.
class FakePeer final : public v1::NodeService::Service {
 public:
  explicit FakePeer(std::function<void(v1::NodeStatus&)> says) : says_(std::move(says)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakePeer() override { server_->Shutdown(std::chrono::system_clock::now()); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  std::atomic<bool> hangs = false;
  std::atomic<int> asked_with_peers = 0;

 private:
  grpc::Status GetNodeStatus(grpc::ServerContext* context, const v1::GetNodeStatusRequest* request,
                             v1::NodeStatus* response) override {
    if (!request->without_peers()) ++asked_with_peers;
    while (hangs && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
    says_(*response);
    return grpc::Status::OK;
  }

  const std::function<void(v1::NodeStatus&)> says_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

void SayRecon2(v1::NodeStatus& status) {
  status.set_node("recon2");
  status.set_server("recon2.example.org");
  status.set_version("0.9.0");
  status.set_ready(true);
  status.set_active_jobs(3);
  status.set_max_active_jobs(8);
  status.set_queue_chunks(7);
  status.add_station_name("C2");
  status.set_spool_free_bytes(100);
  status.set_archive_free_bytes(200);
  v1::NodeDevice& device = *status.add_device();
  device.set_name("cpu0");
  device.set_healthy(true);
  device.set_speed_gups(1.5);
  v1::NodeOrigin& origin = *status.mutable_replication()->add_origin();
  origin.set_node("recon1");
  origin.set_copies(4);
  origin.set_orphans(2);
}

class PeerWatchTest : public ::testing::Test {
 protected:
  PeerWatchTest() {
    cluster_.set_node_name("recon1");
    for (const char* node : {"recon1", "recon2", "recon3"}) cluster_.add_node(node);
  }
  void Know(const std::string& node, const std::string& address) {
    v1::PeerConfig& peer = *cluster_.add_peer();
    peer.set_node(node);
    peer.set_address(address);
  }
  void Start() {
    auto watch = PeerWatch::Start(
        cluster_, {.between = absl::Milliseconds(20), .answer = absl::Milliseconds(300)});
    ASSERT_TRUE(watch.ok()) << watch.status();
    watch_ = *std::move(watch);
  }
  node::Peer Of(const std::string& node) {
    for (const node::Peer& peer : watch_->Get()) {
      if (peer.node == node) return peer;
    }
    ADD_FAILURE() << node << " is left out";
    return {};
  }
  bool Reaches(const std::string& node) { return Of(node).reachable; }
  /// Why an answer is not believed.
  std::string Disbelief(std::function<void(v1::NodeStatus&)> says) {
    FakePeer peer(std::move(says));
    cluster_.clear_peer();
    Know("recon2", peer.address());
    Start();
    EXPECT_TRUE(Eventually([&] { return Of("recon2").error != "it has not been asked yet"; }));
    EXPECT_FALSE(Reaches("recon2"));
    EXPECT_FALSE(Of("recon2").summary.has_value());
    const std::string error = Of("recon2").error;
    watch_ = nullptr;
    return error;
  }

  v1::ClusterConfig cluster_;
  std::unique_ptr<PeerWatch> watch_;
};

TEST_F(PeerWatchTest, EveryNodeIsShownAlsoOneThatNobodyCanAsk) {
  FakePeer second(SayRecon2);
  Know("recon2", second.address());
  Start();
  ASSERT_TRUE(Eventually([&] { return Reaches("recon2"); }));
  const node::Peer peer = Of("recon2");
  EXPECT_EQ(peer.address, second.address());
  EXPECT_EQ(peer.error, "");
  EXPECT_LT(absl::AbsDuration(absl::Now() - peer.seen), absl::Seconds(10));
  ASSERT_TRUE(peer.summary.has_value());
  EXPECT_EQ(peer.summary->server, "recon2.example.org");
  EXPECT_TRUE(peer.summary->ready);
  EXPECT_EQ(peer.summary->active_jobs, 3);
  EXPECT_EQ(peer.summary->queue_chunks, 7);
  EXPECT_THAT(peer.summary->rooms, ElementsAre("C2"));
  EXPECT_EQ(peer.summary->devices[0].speed_gups, 1.5);
  EXPECT_EQ(peer.summary->archive_free_bytes, 200);
  ASSERT_TRUE(peer.summary->replication.has_value());
  EXPECT_EQ(peer.summary->replication->origins[0].orphans, 2);
  EXPECT_EQ(second.asked_with_peers, 0) << "nodes that ask each other for all would never end";
  EXPECT_EQ(Of("recon3").address, "");
  EXPECT_THAT(Of("recon3").error, HasSubstr("cluster.peer"));
  EXPECT_FALSE(Reaches("recon3"));
}

TEST_F(PeerWatchTest, ANodeThatHangsHoldsUpNobodyAndIsShownWithWhenItWasSeen) {
  FakePeer second(SayRecon2);
  FakePeer third([](v1::NodeStatus& status) { status.set_node("recon3"); });
  Know("recon2", second.address());
  Know("recon3", third.address());
  Start();
  ASSERT_TRUE(Eventually([&] { return Reaches("recon2") && Reaches("recon3"); }));
  second.hangs = true;
  ASSERT_TRUE(Eventually([&] { return !Reaches("recon2"); }));
  const absl::Time begin = absl::Now();
  const node::Peer away = Of("recon2");
  EXPECT_LT(absl::Now() - begin, absl::Milliseconds(250)) << "it comes from memory";
  EXPECT_EQ(away.error, "it does not answer in time");
  EXPECT_NE(away.seen, absl::InfinitePast());
  EXPECT_LE(away.seen, absl::Now());
  EXPECT_TRUE(away.summary.has_value());
  EXPECT_TRUE(Reaches("recon3"));
  second.hangs = false;
  EXPECT_TRUE(Eventually([&] { return Reaches("recon2"); }));
}

TEST_F(PeerWatchTest, ANodeThatWasNeverThereWasNeverSeen) {
  Know("recon2", "127.0.0.1:1");
  Start();
  ASSERT_TRUE(Eventually([&] { return Of("recon2").error != "it has not been asked yet"; }));
  EXPECT_FALSE(Reaches("recon2"));
  EXPECT_EQ(Of("recon2").seen, absl::InfinitePast());
}

TEST_F(PeerWatchTest, AnswersThatCannotBeAreNotBelieved) {
  EXPECT_THAT(Disbelief([](v1::NodeStatus& status) { status.set_node("recon9"); }),
              HasSubstr("node 'recon9' answers at its address"));
  EXPECT_THAT(Disbelief([](v1::NodeStatus& status) {
                status.set_node("recon2");
                status.set_version(std::string(PeerWatch::kLongestAnswer, 'a'));
              }),
              HasSubstr("larger than max"));
  EXPECT_THAT(Disbelief([](v1::NodeStatus& status) {
                status.set_node("recon2");
                status.set_archive_free_bytes(~uint64_t{0});
              }),
              HasSubstr("archive_free_bytes is 18446744073709551615"));
  EXPECT_THAT(Disbelief([](v1::NodeStatus& status) {
                status.set_node("recon2");
                status.add_device()->set_speed_gups(std::numeric_limits<double>::quiet_NaN());
              }),
              HasSubstr("speed_gups is nan"));
  EXPECT_THAT(Disbelief([](v1::NodeStatus& status) {
                status.set_node("recon2");
                status.mutable_start_time()->set_seconds(int64_t{1} << 60);
              }),
              HasSubstr("start_time is"));
}

}  // namespace
}  // namespace isocenter::rpc
