// Addresses behind which several nodes have jobs, for tests of commands that ask all of them: a
// proxy's, which routes by the name in the metadata, or a node's own. On loopback, on free ports.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "isocenter/v1/jobs.grpc.pb.h"
#include "isocenter/v1/node.grpc.pb.h"

namespace isocenter::client_test {

/// What a node has and is; not changed while an address leads to it, but for what was done to it.
struct FakeNode {
  std::string name;
  std::vector<v1::Job> jobs;
  v1::NodeStatus status;
  bool away = false;                  // calls that name it are refused, as by a proxy
  bool hangs = false;                 // calls that name it get no answer
  std::set<std::string> undeletable;  // jobs

  void AddJob(const std::string& id, v1::JobState state, int64_t created) {
    v1::Job& job = jobs.emplace_back();
    job.set_job_id(id);
    job.set_state(state);
    job.mutable_create_time()->set_seconds(created);
  }
};

class FakeAddress final : public v1::AcquisitionService::Service,
                          public v1::JobService::Service,
                          public v1::NodeService::Service {
 public:
  /// A proxy before `nodes`; or, where `own` is not empty, the address of the node of that name,
  /// which answers for itself whoever is meant, as the service does. All of `nodes` are listed.
  explicit FakeAddress(std::vector<FakeNode> nodes, std::string own = "")
      : nodes_(std::move(nodes)), own_(std::move(own)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::AcquisitionService::Service*>(this));
    builder.RegisterService(static_cast<v1::JobService::Service*>(this));
    builder.RegisterService(static_cast<v1::NodeService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~FakeAddress() override { server_->Shutdown(std::chrono::system_clock::now()); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  /// "NODE VERB JOB" of what was changed.
  std::set<std::string> done() const {
    absl::MutexLock lock(&mutex_);
    return done_;
  }

  grpc::Status ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest*,
                         v1::ListNodesResponse* response) override {
    for (const FakeNode& node : nodes_) response->add_node(node.name);
    const FakeNode* node = Meant(*context);
    if (node == nullptr) return Away();
    response->set_answered_by(node->name);
    return grpc::Status::OK;
  }
  grpc::Status GetNodeStatus(grpc::ServerContext* context, const v1::GetNodeStatusRequest*,
                             v1::NodeStatus* status) override {
    const FakeNode* node = Meant(*context);
    if (node == nullptr) return Away();
    *status = node->status;
    return grpc::Status::OK;
  }
  grpc::Status DrainNode(grpc::ServerContext* context, const v1::DrainNodeRequest*,
                         v1::NodeStatus*) override {
    const FakeNode* node = Meant(*context);
    return node == nullptr ? Away() : Did(*node, "drained", "");
  }
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest*,
                        v1::ListJobsResponse* response) override {
    const FakeNode* node = Meant(*context);
    if (node == nullptr) return Away();
    for (const v1::Job& job : node->jobs) *response->add_job() = job;
    return grpc::Status::OK;
  }
  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                      v1::Job* response) override {
    const FakeNode* node = Meant(*context);
    if (node == nullptr) return Away();
    for (const v1::Job& job : node->jobs) {
      if (job.job_id() != request->job_id()) continue;
      *response = job;
      return grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, absl::StrCat("no job at ", node->name)};
  }
  grpc::Status WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::Job>* writer) override {
    v1::GetJobRequest get;
    get.set_job_id(request->job_id());
    v1::Job job;
    const grpc::Status status = GetJob(context, &get, &job);
    if (status.ok()) writer->Write(job);
    return status;
  }
  grpc::Status CancelJob(grpc::ServerContext* context, const v1::CancelJobRequest* request,
                         v1::Job* job) override {
    const FakeNode* node = Meant(*context);
    if (node == nullptr) return Away();
    job->set_job_id(request->job_id());
    job->set_state(v1::JOB_STATE_CANCELLED);
    return Did(*node, "cancelled", request->job_id());
  }
  grpc::Status DeleteJob(grpc::ServerContext* context, const v1::DeleteJobRequest* request,
                         v1::DeleteJobResponse*) override {
    const FakeNode* node = Meant(*context);
    if (node == nullptr) return Away();
    if (node->undeletable.contains(request->job_id())) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "an active job refines it"};
    }
    return Did(*node, "deleted", request->job_id());
  }

 private:
  static grpc::Status Away() { return {grpc::StatusCode::UNAVAILABLE, "no such server"}; }

  /// Whoever gets the call; null: nobody does.
  const FakeNode* Meant(const grpc::ServerContext& context) const {
    const auto found = context.client_metadata().find("isocenter-node");
    const bool named = own_.empty() && found != context.client_metadata().end();
    const std::string name = named ? std::string(found->second.data(), found->second.size()) : own_;
    for (const FakeNode& node : nodes_) {
      if (name.empty() ? node.away || node.hangs : node.name != name) continue;
      while (node.hangs && !context.IsCancelled()) absl::SleepFor(absl::Milliseconds(20));
      return node.away ? nullptr : &node;
    }
    return nullptr;
  }
  grpc::Status Did(const FakeNode& node, const std::string& verb, const std::string& job) {
    absl::MutexLock lock(&mutex_);
    done_.insert(absl::StrCat(node.name, " ", verb, " ", job));
    return grpc::Status::OK;
  }

  const std::vector<FakeNode> nodes_;
  const std::string own_;
  mutable absl::Mutex mutex_;
  std::set<std::string> done_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace isocenter::client_test
