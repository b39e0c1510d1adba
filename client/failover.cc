#include "client/failover.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "client/nodes.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "kernels/base/steady_clock.h"

namespace isocenter::client {
namespace {

// All from memory; a node that is under load has answered within milliseconds
// (docs/performance.md). Twice as long after each round in which nobody did.
constexpr absl::Duration kToQuote = absl::Seconds(1);
constexpr absl::Duration kMostToQuote = kToBeTaken;
// A patient lies on the table, and a question costs a node next to nothing.
constexpr absl::Duration kBetweenRounds = absl::Milliseconds(500);
constexpr absl::Duration kLeastToAnswer = absl::Seconds(1);
constexpr absl::Duration kToCancel = absl::Seconds(2);

/// A call for that node alone.
void Address(grpc::ClientContext& context, const std::string& node, absl::Duration limit) {
  context.AddMetadata(kNodeMetadata, node);
  context.set_deadline(DeadlineIn(limit));
}

}  // namespace

v1::AcquireRequest MoveRequest(const std::string& job_id, const v1::AcquisitionHeader& header) {
  v1::AcquireRequest request;
  *request.mutable_header() = header;
  request.mutable_header()->set_continues_job_id(job_id);
  return request;
}

Failover::Failover(ServiceChannel channel, std::vector<std::string> nodes, absl::Duration after)
    : channel_(std::move(channel)), nodes_(std::move(nodes)), after_(after), to_quote_(kToQuote) {}

std::string Failover::Next(const v1::AcquireRequest& move, const std::string& home) {
  if (round_.empty()) {
    std::vector<std::string> others = nodes_;
    std::erase(others, home);
    const auto ranked = RankNodes(channel_, others, move.header(), to_quote_);
    to_quote_ = ranked.empty() ? std::min(2 * to_quote_, kMostToQuote) : kToQuote;
    round_.assign(ranked.begin(), ranked.end());
    round_.push_back(home);
  }
  std::string node = std::move(round_.front());
  round_.pop_front();
  if (node != home) left_.insert(node);  // it may take it when nobody waits for that any more
  return node;
}

absl::Duration Failover::LongestPause() const {
  return round_.size() > 1 ? absl::ZeroDuration() : kBetweenRounds;
}

void Failover::Arrived(const std::string& node, const std::string& home) {
  round_.clear();
  left_.insert(home);
  left_.erase(node);
}

bool Failover::Answers(const std::string& node, const std::string& job_id) const {
  grpc::ClientContext context;
  Address(context, node, std::max(0.5 * after_, kLeastToAnswer));
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  const auto stub = v1::JobService::NewStub(channel_.grpc_channel());
  return Answered(stub->GetJob(&context, request, &job));
}

void Failover::Withdraw(const std::string& job_id) const {
  const auto stub = v1::JobService::NewStub(channel_.grpc_channel());
  for (const std::string& node : left_) {
    grpc::ClientContext context;
    Address(context, node, kToCancel);
    v1::CancelJobRequest request;
    request.set_job_id(job_id);
    v1::Job job;
    // Whatever it says: a node that cannot be reached ends the job by itself.
    (void)stub->CancelJob(&context, request, &job);
  }
}

}  // namespace isocenter::client
