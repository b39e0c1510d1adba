// Two nodes behind one address, for tests of the client: they keep to the contract, compute
// nothing, and die on demand. Listens on loopback, on a free port.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"

namespace isocenter::client_test {

class TwoNodes final : public v1::AcquisitionService::Service, public v1::JobService::Service {
 public:
  struct Node {
    bool away = false;    // its calls end, and new ones are refused, as by a proxy
    bool silent = false;  // its calls stay, and nothing comes of them; new ones are refused
    int64_t dies_at_frame = -1, falls_silent_at_frame = -1;
    bool dies_after_finish = false;
    bool hangs_when_asked = false;                   // quotes stay without an answer
    bool hangs_when_begun = false;                   // acquisitions, too
    bool refuses = false;                            // all that it does not know
    std::map<std::string, std::set<uint32_t>> held;  // by job
    std::set<std::string> cancelled;
  };

  TwoNodes() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::AcquisitionService::Service*>(this));
    builder.RegisterService(static_cast<v1::JobService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~TwoNodes() override { server_->Shutdown(std::chrono::system_clock::now()); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  /// "a" or "b"; quotes make "a" the better one.
  void Change(const std::string& node, const std::function<void(Node&)>& change) {
    absl::MutexLock lock(&mutex_);
    change(nodes_.at(node));
  }
  Node Get(const std::string& node) const {
    absl::MutexLock lock(&mutex_);
    return nodes_.at(node);
  }

  /// Of the next `count` questions which nodes there are, a proxy says that it has no server.
  void RefuseLists(int count) {
    absl::MutexLock lock(&mutex_);
    lists_refused_ = count;
  }

  grpc::Status ListNodes(grpc::ServerContext*, const v1::ListNodesRequest*,
                         v1::ListNodesResponse* response) override {
    absl::MutexLock lock(&mutex_);
    if (lists_refused_-- > 0) {
      return {grpc::StatusCode::UNAVAILABLE, "http2 header with status: 503"};
    }
    for (const char* name : {"a", "b"}) response->add_node(name);
    return grpc::Status::OK;
  }
  grpc::Status QuoteAcquisition(grpc::ServerContext* context, const v1::QuoteAcquisitionRequest*,
                                v1::AcquisitionQuote* quote) override {
    const std::string name = Addressee(*context);
    quote->set_node(name);
    quote->set_predicted_finish_seconds(name == "a" ? 1 : 2);
    const Node node = Get(name);
    if (node.hangs_when_asked) return Hang(*context);
    return node.away || node.silent ? Away() : grpc::Status::OK;
  }
  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                      v1::Job* job) override {
    const Node node = Get(Addressee(*context));
    if (node.away || node.silent) return Away();
    job->set_job_id(request->job_id());
    return grpc::Status::OK;
  }
  grpc::Status CancelJob(grpc::ServerContext* context, const v1::CancelJobRequest* request,
                         v1::Job*) override {
    absl::MutexLock lock(&mutex_);
    Node& node = nodes_.at(Addressee(*context));
    if (node.away || node.silent) return Away();
    node.cancelled.insert(request->job_id());
    return grpc::Status::OK;
  }

  grpc::Status Acquire(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::AcquireResponse, v1::AcquireRequest>* stream) override {
    const std::string name = Addressee(*context);
    v1::AcquireRequest request;
    v1::AcquireResponse response;
    if (!stream->Read(&request)) return Away();
    if (Get(name).hangs_when_begun) return Hang(*context);
    const grpc::Status admitted = Admit(name, request, *response.mutable_accepted());
    if (!admitted.ok()) return admitted;
    const std::string job = response.accepted().job_id();
    stream->Write(response);
    while (stream->Read(&request)) {
      const Answer answer = Take(name, job, request, response);
      if (answer == Answer::kDies) return Away();
      if (answer == Answer::kSilent) continue;
      stream->Write(response);
      if (request.has_finish()) return grpc::Status::OK;
    }
    return {grpc::StatusCode::CANCELLED, "the console has gone"};
  }

 private:
  enum class Answer { kGiven, kDies, kSilent };

  static grpc::Status Hang(const grpc::ServerContext& context) {
    while (!context.IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
    return {grpc::StatusCode::CANCELLED, "nobody waits"};
  }
  static grpc::Status Away() { return {grpc::StatusCode::UNAVAILABLE, "no such server"}; }
  static std::string Addressee(const grpc::ServerContext& context) {
    const auto found = context.client_metadata().find("isocenter-node");
    return found == context.client_metadata().end()
               ? ""
               : std::string(found->second.data(), found->second.size());
  }

  grpc::Status Admit(const std::string& name, const v1::AcquireRequest& request,
                     v1::Accepted& accepted) {
    absl::MutexLock lock(&mutex_);
    Node& node = nodes_.at(name);
    if (node.away || node.silent) return Away();
    std::string job =
        request.has_resume() ? request.resume().job_id() : request.header().continues_job_id();
    if (job.empty()) job = absl::StrCat("job-of-", name);
    if (request.has_resume() && node.held.count(job) == 0) {
      return {grpc::StatusCode::NOT_FOUND, "no such job"};
    }
    if (node.refuses && node.held.count(job) == 0) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "no memory"};
    }
    uint32_t next = 0;
    while (node.held[job].count(next) != 0) ++next;
    accepted.set_job_id(job);
    accepted.set_node(name);
    accepted.set_next_frame_index(next);
    return grpc::Status::OK;
  }

  Answer Take(const std::string& name, const std::string& job, const v1::AcquireRequest& request,
              v1::AcquireResponse& response) {
    absl::MutexLock lock(&mutex_);
    Node& node = nodes_.at(name);
    response.Clear();
    if (node.away) return Answer::kDies;
    if (node.silent) return Answer::kSilent;
    if (request.has_finish()) {
      node.away = node.dies_after_finish;
      response.mutable_result()->set_job_id(job);
      return node.away ? Answer::kDies : Answer::kGiven;
    }
    const int64_t index = request.frame().index();
    node.away = index == node.dies_at_frame;
    node.silent = index == node.falls_silent_at_frame;
    if (node.away) return Answer::kDies;
    if (node.silent) return Answer::kSilent;
    node.held[job].insert(request.frame().index());
    uint32_t next = 0;
    while (node.held[job].count(next) != 0) ++next;
    if (next > 0) response.mutable_acknowledgement()->set_frame_index(next - 1);
    return Answer::kGiven;
  }

  mutable absl::Mutex mutex_;
  std::map<std::string, Node> nodes_ ABSL_GUARDED_BY(mutex_) = {{"a", {}}, {"b", {}}};
  int lists_refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace isocenter::client_test
