#include "server/rpc/job_service.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/jobs/names.h"
#include "server/node/job_audit.h"
#include "server/rpc/download_stream.h"
#include "server/rpc/transfer_service.h"
#include "server/rpc/translation/status_translation.h"
#include "server/rpc/translation/translate.h"
#include "server/rpc/translation/translate_refinement.h"
#include "server/rpc/watch_stream.h"

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
    if (listed.has_motion()) listed.mutable_motion()->clear_pose();
    if (listed.has_self_calibration()) listed.mutable_self_calibration()->clear_move();
    AddTransfers(transfers, listed);
  }
  if (more) {
    response.set_next_page_token(
        EncodePageToken({page.back()->create_time, page.back()->id}, request));
  }
  return absl::OkStatus();
}

}  // namespace

JobService::JobService(const Guard& guard, jobs::JobTable& table, pipeline::Engine& engine,
                       jobs::ResultStore& results, const config::ProtocolBook& protocols,
                       archive::TransferQueue* transfers, absl::Duration idle_limit)
    : table_(table),
      engine_(engine),
      protocols_(protocols),
      transfers_(transfers),
      downloads_{guard, table, results, calls_, idle_limit} {
  Add(guard, {"ListJobs", Role::kViewer}, &JobService::OnListJobs);
  Add(guard, {"GetJob", Role::kViewer}, &JobService::OnGetJob);
  Add(guard, {"CancelJob", Role::kConsole}, &JobService::OnCancelJob);
  Add(guard, {"RefineJob", Role::kConsole}, &JobService::OnRefineJob);
  Add(guard, {"GetJobTrace", Role::kViewer}, &JobService::OnGetJobTrace);
  Add(guard, {"DeleteJob", Role::kAdministrator}, &JobService::OnDeleteJob);
  AddCalls({"WatchJob", Role::kViewer},
           [this, &guard](grpc::CallbackServerContext& context, const Method& method) {
             return WatchStream::New(guard, context, method, table_, calls_);
           });
  AddCalls({"DownloadResult", Role::kConsole, kLongestRequestBytes, CallKind::kDownload},
           [this](grpc::CallbackServerContext& context, const Method& method) {
             return DownloadStream::New(downloads_, context, method);
           });
}

void JobService::OnListJobs(UnaryCall<v1::ListJobsRequest, v1::ListJobsResponse>& call) {
  const Permit& permit = call.permit();
  const absl::Status listed = ListPage(table_, call.request(), transfers_, call.response());
  permit.Record(audit::Action::kQuery, jobs::Job(), listed, [&call](audit::Event& event) {
    event.query.push_back("jobs");
    event.matches = call.response().job_size();
  });
  call.Answer(listed);
}

void JobService::OnGetJob(UnaryCall<v1::GetJobRequest, v1::Job>& call) {
  const Permit& permit = call.permit();
  const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(call.request().job_id());
  if (job.ok()) {
    call.response() = ToProto(**job);
    AddTransfers(transfers_, call.response());
    permit.Record(audit::Action::kView, **job, job.status());
  }
  call.Answer(job.status());
}

absl::StatusOr<jobs::JobSnapshot> JobService::Cancel(const v1::CancelJobRequest& request,
                                                     const Permit& permit) {
  ISO_ASSIGN_OR_RETURN(const jobs::CancelReason reason, CancelReasonFromProto(request.reason()));
  // Before the end, with which it is reported.
  table_.Update(request.job_id(), [&](jobs::Job& job) { job.order.cancel_reason = reason; });
  const std::string why =
      reason == jobs::CancelReason::kUnspecified
          ? ""
          : absl::StrReplaceAll(absl::StrCat(": ", jobs::Name(reason)), {{"_", " "}});
  ISO_RETURN_IF_ERROR(engine_.Cancel(
      request.job_id(),
      absl::CancelledError(absl::StrCat(
          "the job was cancelled ",
          permit.actor.name.empty() ? "on request" : absl::StrCat("by ", permit.actor.name),
          why))));
  spdlog::info("event=cancel_requested job={} by=\"{}\"", request.job_id(), permit.caller());
  return table_.Get(request.job_id());
}

void JobService::OnCancelJob(UnaryCall<v1::CancelJobRequest, v1::Job>& call) {
  const Permit& permit = call.permit();
  const absl::StatusOr<jobs::JobSnapshot> job = Cancel(call.request(), permit);
  if (job.ok()) call.response() = ToProto(**job);
  permit.Record(audit::Action::kCancel, *node::JobNamed(table_, call.request().job_id()),
                job.status());
  call.Answer(job.status());
}

void JobService::OnRefineJob(UnaryCall<v1::RefineJobRequest, v1::Job>& call) {
  const Permit& permit = call.permit();
  const std::string source = call.request().job_id();
  absl::StatusOr<pipeline::RefinementRequest> translated =
      TranslateRefineRequest(call.request(), node::JobNamed(table_, source)->protocol, protocols_);
  if (!translated.ok()) {
    permit.Record(audit::Action::kRefine, *node::JobNamed(table_, source), translated.status());
    return call.Answer(translated.status());
  }
  engine_.Refine(source, *std::move(translated),
                 [this, &call, permit, token = std::make_shared<const CallCounter::Token>(calls_)](
                     const absl::StatusOr<jobs::JobSnapshot>& job) {
                   if (job.ok()) call.response() = ToProto(**job);
                   permit.Record(
                       audit::Action::kRefine,
                       job.ok() ? **job : *node::JobNamed(table_, call.request().job_id()),
                       job.status(), [&call](audit::Event& event) {
                         // Whose volume was read for it.
                         const auto& pass = call.request().second_pass();
                         if (pass.reference_job_id().empty()) return;
                         event.job_ids.push_back(pass.reference_job_id());
                       });
                   call.Answer(job.status());
                 });
}

void JobService::OnGetJobTrace(UnaryCall<v1::GetJobTraceRequest, v1::JobTrace>& call) {
  const Permit& permit = call.permit();
  absl::StatusOr<std::string> trace = table_.TraceOf(call.request().job_id());
  if (trace.ok()) {
    call.response().set_chrome_trace_json(*std::move(trace));
    const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(call.request().job_id());
    if (job.ok()) permit.Record(audit::Action::kView, **job, job.status());
  }
  call.Answer(trace.status());
}

absl::Status JobService::Delete(const v1::DeleteJobRequest& request) {
  if (transfers_ != nullptr && !request.force()) {
    ISO_RETURN_IF_ERROR(transfers_->CheckDelivered(request.job_id()));
  }
  return table_.Delete(request.job_id());
}

void JobService::OnDeleteJob(UnaryCall<v1::DeleteJobRequest, v1::DeleteJobResponse>& call) {
  const Permit& permit = call.permit();
  const v1::DeleteJobRequest& request = call.request();
  // Whose data it was is unknown afterwards.
  const jobs::JobSnapshot job = node::JobNamed(table_, request.job_id());
  const absl::Status status = Delete(request);
  permit.Record(audit::Action::kDelete, *job, status);
  if (status.ok()) {
    spdlog::info("event=job_deleted job={} force={} by=\"{}\"", request.job_id(), request.force(),
                 permit.caller());
  }
  call.Answer(status);
}

}  // namespace isocenter::rpc
