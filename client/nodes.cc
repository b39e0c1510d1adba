#include "client/nodes.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "client/rpc_status.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"

namespace isocenter::client {
namespace {

// A list comes from memory.
constexpr absl::Duration kToList = absl::Seconds(5);
// As a quote does: a node that has none so long after another has its own is busy, or away.
constexpr absl::Duration kAfterTheFirst = absl::Milliseconds(300);

/// One question to one node.
template <class Response>
struct Question {
  std::string node;
  grpc::ClientContext context;
  Response response;
  grpc::Status status;
};

/// Asks all nodes at once and waits for the last answer, or a stop; once one is `enough`, for
/// `grace` more at most. `ask(question, done)` starts one.
template <class Response>
std::vector<std::unique_ptr<Question<Response>>> AskAll(
    const std::vector<std::string>& nodes, absl::Duration timeout, const std::stop_token& stop,
    const std::function<void(Question<Response>&, std::function<void(grpc::Status)>)>& ask,
    bool (*enough)(const Question<Response>&), absl::Duration grace) {
  std::vector<std::unique_ptr<Question<Response>>> questions;
  absl::Mutex mutex;
  size_t open = nodes.size();  // guarded by `mutex`, as the next
  bool has_enough = false;
  for (const std::string& node : nodes) {
    Question<Response>& question = *questions.emplace_back(std::make_unique<Question<Response>>());
    question.node = node;
    question.context.AddMetadata(kNodeMetadata, node);
    question.context.set_deadline(DeadlineIn(timeout));
    ask(question, [&, q = &question](grpc::Status status) {
      q->status = std::move(status);
      absl::MutexLock lock(&mutex);
      --open;
      has_enough |= enough(*q);
    });
  }
  const auto cancel = [&questions] {
    for (const auto& question : questions) question->context.TryCancel();
  };
  const std::stop_callback stopped(stop, cancel);
  const auto all = [&] { return open == 0; };
  const auto some = [&] { return open == 0 || has_enough; };
  absl::MutexLock lock(&mutex);
  mutex.Await(absl::Condition(&some));
  if (AwaitFor(mutex, absl::Condition(&all), grace)) return questions;
  mutex.Unlock();
  cancel();
  mutex.Lock();
  mutex.Await(absl::Condition(&all));
  return questions;
}

}  // namespace

bool Answered(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
      return false;
    default:
      return true;
  }
}

absl::StatusOr<NodeList> AskForNodes(const ServiceChannel& channel, absl::Duration timeout,
                                     const std::stop_token& stop) {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  context.set_deadline(DeadlineIn(std::min(timeout, kToList)));
  v1::ListNodesResponse response;
  const auto stub = v1::AcquisitionService::NewStub(channel.grpc_channel());
  const grpc::Status status = stub->ListNodes(&context, {}, &response);
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) return NodeList();
  ISO_RETURN_IF_ERROR(FromGrpc(status, context));
  return NodeList{response.answered_by(), {response.node().begin(), response.node().end()}};
}

absl::StatusOr<std::vector<std::string>> ListNodes(const ServiceChannel& channel,
                                                   absl::Duration timeout,
                                                   const std::stop_token& stop) {
  if (!channel.node().empty()) return std::vector<std::string>();
  ISO_ASSIGN_OR_RETURN(NodeList list, AskForNodes(channel, timeout, stop));
  if (list.nodes.size() < 2) list.nodes.clear();
  return std::move(list.nodes);
}

std::vector<std::string> RankNodes(const ServiceChannel& channel,
                                   const std::vector<std::string>& nodes,
                                   const v1::AcquisitionHeader& header, absl::Duration timeout,
                                   const std::stop_token& stop) {
  const auto stub = v1::AcquisitionService::NewStub(channel.grpc_channel());
  v1::QuoteAcquisitionRequest request;
  *request.mutable_header() = header;
  using Quote = Question<v1::AcquisitionQuote>;
  auto quotes = AskAll<v1::AcquisitionQuote>(
      nodes, timeout, stop,
      [&](Quote& question, std::function<void(grpc::Status)> done) {
        stub->async()->QuoteAcquisition(&question.context, &request, &question.response,
                                        std::move(done));
      },
      [](const Quote& quote) { return quote.status.ok(); }, kAfterTheFirst);
  std::erase_if(quotes, [](const auto& q) { return !Answered(q->status); });
  std::ranges::stable_sort(quotes, {}, [](const std::unique_ptr<Quote>& q) {
    const v1::AcquisitionQuote& quote = q->response;
    return std::tuple(!quote.holds_related_job(), !q->status.ok(), quote.predicted_finish_seconds(),
                      quote.wait_seconds(), quote.active_jobs());
  });
  std::vector<std::string> ranked;
  for (const auto& quote : quotes) ranked.push_back(quote->node);
  return ranked;
}

std::string NodeOfJob(const ServiceChannel& channel, const std::vector<std::string>& nodes,
                      const std::string& job_id, absl::Duration timeout,
                      const std::stop_token& stop) {
  if (nodes.empty()) return "";
  const auto stub = v1::JobService::NewStub(channel.grpc_channel());
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  const auto answers = AskAll<v1::Job>(
      nodes, timeout, stop,
      [&](Question<v1::Job>& question, std::function<void(grpc::Status)> done) {
        stub->async()->GetJob(&question.context, &request, &question.response, std::move(done));
      },
      [](const Question<v1::Job>& question) { return question.status.ok(); }, absl::ZeroDuration());
  const auto found = std::ranges::find_if(answers, [](const auto& a) { return a->status.ok(); });
  return found == answers.end() ? "" : (*found)->node;
}

}  // namespace isocenter::client
