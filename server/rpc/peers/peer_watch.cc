#include "server/rpc/peers/peer_watch.h"

#include <grpcpp/grpcpp.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"
#include "isocenter/v1/node.grpc.pb.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"
#include "server/config/peers.h"
#include "server/rpc/peers/peer_channel.h"
#include "server/rpc/translation/translate_node.h"

namespace isocenter::rpc {

/// A node, and what it has said.
struct PeerWatch::Watched {
  node::Peer peer;
  std::unique_ptr<v1::NodeService::Stub> stub;  // null: it is not asked
  /// Of SteadyNow: a clock that is set makes nobody seen in the future.
  std::optional<absl::Time> answered;
};

/// One question to one node.
struct PeerWatch::Question {
  Watched* of = nullptr;
  grpc::ClientContext context;
  v1::GetNodeStatusRequest request;
  v1::NodeStatus response;
  grpc::Status status;
};

namespace {

/// What a node's answer says. Errors: why it is none of that node.
absl::StatusOr<node::Summary> Read(const std::string& node, const grpc::Status& status,
                                   const v1::NodeStatus& response) {
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::DeadlineExceededError("it does not answer in time");
  }
  if (!status.ok()) return absl::UnavailableError(status.error_message());
  // One of an earlier version does not say who it is.
  if (!response.node().empty() && response.node() != node) {
    return absl::FailedPreconditionError(
        absl::StrCat("node '", response.node().substr(0, 64), "' answers at its address"));
  }
  ISO_ASSIGN_OR_RETURN(node::Summary summary, SummaryFromProto(response));
  summary.node = node;
  return summary;
}

}  // namespace

PeerWatch::PeerWatch(PeerTiming timing) : timing_(timing) {}

absl::StatusOr<std::unique_ptr<PeerWatch>> PeerWatch::Start(const v1::ClusterConfig& cluster,
                                                            PeerTiming timing) {
  std::unique_ptr<PeerWatch> watch(new PeerWatch(timing));
  const v1::PeerTlsConfig tls = config::PeerTlsOf(cluster);
  const std::vector<v1::PeerConfig> known_peers = config::PeersOf(cluster);
  for (const std::string& name : cluster.node()) {
    if (name == cluster.node_name()) continue;
    Watched& watched = *watch->peers_.emplace_back(std::make_unique<Watched>());
    watched.peer.node = name;
    const auto known = std::ranges::find(known_peers, name, &v1::PeerConfig::node);
    if (known == known_peers.end()) {
      watched.peer.error = "its address is not configured here (cluster.peer)";
      continue;
    }
    watched.peer.address = known->address();
    watched.peer.error = "it has not been asked yet";
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kLongestAnswer);
    ISO_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                         OpenPeerChannel({.field = "cluster.peer_tls",
                                          .address = known->address(),
                                          .ca_file = tls.ca_file(),
                                          .certificate_file = tls.certificate_file(),
                                          .private_key_file = tls.private_key_file()},
                                         std::move(arguments)));
    watched.stub = v1::NodeService::NewStub(channel);
  }
  if (!known_peers.empty()) watch->thread_ = std::thread([raw = watch.get()] { raw->Run(); });
  return watch;
}

PeerWatch::~PeerWatch() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

std::vector<node::Peer> PeerWatch::Get() const {
  absl::MutexLock lock(&mutex_);
  std::vector<node::Peer> peers;
  for (const auto& watched : peers_) {
    node::Peer& peer = peers.emplace_back(watched->peer);
    if (watched->answered) peer.seen = absl::Now() - (SteadyNow() - *watched->answered);
  }
  return peers;
}

void PeerWatch::AskAll() {
  std::vector<std::unique_ptr<Question>> questions;
  for (const auto& watched : peers_) {
    if (watched->stub == nullptr) continue;
    Question& question = *questions.emplace_back(std::make_unique<Question>());
    question.of = watched.get();
    question.request.set_without_peers(true);
    question.context.set_deadline(std::chrono::system_clock::now() +
                                  absl::ToChronoMilliseconds(timing_.answer));
  }
  absl::BlockingCounter open(static_cast<int>(questions.size()));
  for (const auto& each : questions) {
    Question* const question = each.get();
    question->of->stub->async()->GetNodeStatus(&question->context, &question->request,
                                               &question->response,
                                               [question, &open](grpc::Status status) {
                                                 question->status = std::move(status);
                                                 open.DecrementCount();
                                               });
  }
  open.Wait();
  const absl::Time now = SteadyNow();
  absl::MutexLock lock(&mutex_);
  for (const auto& question : questions) {
    Watched& watched = *question->of;
    node::Peer& peer = watched.peer;
    absl::StatusOr<node::Summary> said = Read(peer.node, question->status, question->response);
    if (said.ok() != peer.reachable) {
      if (said.ok()) {
        spdlog::info("event=peer_reached node={}", peer.node);
      } else {
        spdlog::warn("event=peer_not_reached node={} reason=\"{}\"", peer.node,
                     said.status().ToString());
      }
    }
    peer.reachable = said.ok();
    peer.error = std::string(said.status().message());
    if (!said.ok()) continue;
    peer.summary = *std::move(said);
    watched.answered = now;
  }
}

void PeerWatch::Run() {
  pthread_setname_np(pthread_self(), "iso-peers");
  for (;;) {
    AskAll();
    absl::MutexLock lock(&mutex_);
    AwaitFor(mutex_, absl::Condition(&stopping_), timing_.between);
    if (stopping_) return;
  }
}

}  // namespace isocenter::rpc
