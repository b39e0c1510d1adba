#include "server/rpc/job_service.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/rpc/download_stream.h"
#include "server/rpc/transfer_service.h"
#include "server/rpc/translation/status_translation.h"
#include "server/rpc/translation/translate.h"
#include "server/rpc/translation/translate_refinement.h"
#include "server/rpc/watch_stream.h"
#include "spdlog/spdlog.h"

namespace isocenter::rpc {
namespace {

constexpr int kDefaultPageSize = 50;
constexpr int kLargestPageSize = 1000;

void AddTransfers(archive::TransferQueue* queue, v1::Job& job) {
  if (queue == nullptr) return;
  for (v1::Transfer& transfer : TransfersOf(*queue, job.job_id())) {
    *job.add_transfer() = std::move(transfer);
  }
}

absl::Status ListPage(const jobs::JobTable& table, const v1::ListJobsRequest& request,
                      archive::TransferQueue* transfers, v1::ListJobsResponse& response) {
  if (request.page_size() < 0 || request.page_size() > kLargestPageSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size is ", request.page_size(), "; legal is 0 to ", kLargestPageSize));
  }
  const int page_size = request.page_size() == 0 ? kDefaultPageSize : request.page_size();
  ISO_ASSIGN_OR_RETURN(const jobs::JobFilter filter, FilterFromProto(request));
  std::optional<jobs::JobCursor> cursor;
  if (!request.page_token().empty()) {
    ISO_ASSIGN_OR_RETURN(cursor, DecodePageToken(request));
  }
  std::vector<jobs::JobSnapshot> page = table.List(filter, cursor, page_size + 1);
  const bool more = static_cast<int>(page.size()) > page_size;
  if (more) page.pop_back();
  for (const jobs::JobSnapshot& job : page) {
    v1::Job& listed = *response.add_job();
    listed = ToProto(*job);
    listed.clear_iteration();  // a page of long refinements would not fit a message
    AddTransfers(transfers, listed);
  }
  if (more) {
    response.set_next_page_token(
        EncodePageToken({page.back()->create_time, page.back()->id}, request));
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* JobService::ListJobs(grpc::CallbackServerContext* call,
                                               const v1::ListJobsRequest* request,
                                               v1::ListJobsResponse* response) {
  const Permit permit = guard_.Ask(*call, roles::Role::kViewer);
  if (!permit.ok()) return Answer(call, permit.status);
  return Answer(call, ListPage(table_, *request, transfers_, *response));
}

grpc::ServerUnaryReactor* JobService::GetJob(grpc::CallbackServerContext* call,
                                             const v1::GetJobRequest* request, v1::Job* response) {
  const Permit permit = guard_.Ask(*call, roles::Role::kViewer);
  if (!permit.ok()) return Answer(call, permit.status);
  const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(request->job_id());
  if (job.ok()) {
    *response = ToProto(**job);
    AddTransfers(transfers_, *response);
  }
  return Answer(call, job.status());
}

grpc::ServerWriteReactor<v1::Job>* JobService::WatchJob(grpc::CallbackServerContext* call,
                                                        const v1::WatchJobRequest* request) {
  const Permit permit = guard_.Ask(*call, roles::Role::kViewer);
  if (!permit.ok()) return new RefusedStream<v1::Job>(permit.status);
  return WatchStream::Start(table_, calls_, *request);
}

grpc::ServerUnaryReactor* JobService::CancelJob(grpc::CallbackServerContext* call,
                                                const v1::CancelJobRequest* request,
                                                v1::Job* response) {
  const Permit permit = guard_.Ask(*call, roles::Role::kConsole);
  absl::Status status = permit.status;
  const absl::StatusOr<jobs::CancelReason> reason = CancelReasonFromProto(request->reason());
  if (status.ok()) status = reason.status();
  if (status.ok()) {
    // Before the end, with which it is reported.
    table_.Update(request->job_id(), [&](jobs::Job& job) { job.order.cancel_reason = *reason; });
    status = engine_.Cancel(
        request->job_id(),
        absl::CancelledError(permit.actor.name.empty()
                                 ? "the job was cancelled on request"
                                 : absl::StrCat("the job was cancelled by ", permit.actor.name)));
  }
  if (status.ok()) {
    spdlog::info("event=cancel_requested job={} by=\"{}\"", request->job_id(), permit.caller());
    const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(request->job_id());
    if (job.ok()) *response = ToProto(**job);
    status = job.status();
  }
  audit_.Record(audit::Action::kCancel, permit.actor, request->job_id(), status);
  return Answer(call, status);
}

grpc::ServerUnaryReactor* JobService::RefineJob(grpc::CallbackServerContext* call,
                                                const v1::RefineJobRequest* request,
                                                v1::Job* response) {
  const Permit permit = guard_.Ask(*call, roles::Role::kConsole);
  if (!permit.ok()) {
    audit_.Record(audit::Action::kRefine, permit.actor, request->job_id(), permit.status);
    return Answer(call, permit.status);
  }
  absl::StatusOr<pipeline::RefinementRequest> translated =
      TranslateRefineRequest(*request, protocols_);
  if (!translated.ok()) return Answer(call, translated.status());
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  // gRPC keeps the response until the reactor has finished.
  engine_.Refine(request->job_id(), *std::move(translated),
                 [this, reactor, response, actor = permit.actor, source = request->job_id(),
                  token = std::make_shared<const CallCounter::Token>(calls_)](
                     const absl::StatusOr<jobs::JobSnapshot>& job) {
                   if (job.ok()) *response = ToProto(**job);
                   audit_.Record(audit::Action::kRefine, actor, job.ok() ? (*job)->id : source,
                                 job.status());
                   reactor->Finish(ToGrpc(job.status()));
                 });
  return reactor;
}

grpc::ServerUnaryReactor* JobService::GetJobTrace(grpc::CallbackServerContext* call,
                                                  const v1::GetJobTraceRequest* request,
                                                  v1::JobTrace* response) {
  const Permit permit = guard_.Ask(*call, roles::Role::kViewer);
  if (!permit.ok()) return Answer(call, permit.status);
  absl::StatusOr<std::string> trace = table_.TraceOf(request->job_id());
  if (trace.ok()) response->set_chrome_trace_json(*std::move(trace));
  return Answer(call, trace.status());
}

absl::Status JobService::Delete(const v1::DeleteJobRequest& request) {
  if (transfers_ != nullptr && !request.force()) {
    ISO_RETURN_IF_ERROR(transfers_->CheckDelivered(request.job_id()));
  }
  return table_.Delete(request.job_id());
}

grpc::ServerUnaryReactor* JobService::DeleteJob(grpc::CallbackServerContext* call,
                                                const v1::DeleteJobRequest* request,
                                                v1::DeleteJobResponse*) {
  const Permit permit = guard_.Ask(*call, roles::Role::kAdministrator);
  // Whose data it was is unknown afterwards.
  const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(request->job_id());
  const absl::Status status = permit.ok() ? Delete(*request) : permit.status;
  if (job.ok()) {
    audit_.Record(audit::Action::kDelete, permit.actor, **job, status);
  } else {
    audit_.Record(audit::Action::kDelete, permit.actor, request->job_id(), status);
  }
  if (status.ok()) {
    spdlog::info("event=job_deleted job={} force={} by=\"{}\"", request->job_id(), request->force(),
                 permit.caller());
  }
  return Answer(call, status);
}

grpc::ServerWriteReactor<v1::DownloadResultResponse>* JobService::DownloadResult(
    grpc::CallbackServerContext* call, const v1::DownloadResultRequest* request) {
  const Permit permit = guard_.Ask(*call, roles::Role::kConsole);
  if (!permit.ok()) {
    audit_.Record(audit::Action::kDownload, permit.actor, request->job_id(), permit.status);
    return new RefusedStream<v1::DownloadResultResponse>(permit.status);
  }
  return DownloadStream::Start(
      table_, results_, calls_, *request,
      [this, actor = permit.actor, job_id = request->job_id()](const absl::Status& outcome) {
        audit_.Record(audit::Action::kDownload, actor, job_id, outcome);
      });
}

}  // namespace isocenter::rpc
