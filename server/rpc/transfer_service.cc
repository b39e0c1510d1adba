#include "server/rpc/transfer_service.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/calibration.h"
#include "server/base/log.h"
#include "server/node/job_audit.h"
#include "server/rpc/translation/translate.h"

namespace isocenter::rpc {
namespace {

constexpr int kDefaultPageSize = 50;
constexpr int kLargestPageSize = 1000;
constexpr int kDestinationsShown = 100;  // of one job
constexpr size_t kMostSentAtOnce = 1000;

v1::TransferState StateToProto(archive::TransferState state) {
  return static_cast<v1::TransferState>(static_cast<int>(state) + 1);
}

/// The same for requests that differ in their page only.
std::string FingerprintOf(v1::ListTransfersRequest request) {
  request.clear_page_size();
  request.clear_page_token();
  const std::string bytes = request.SerializeAsString();
  return absl::StrCat(Crc32c(std::as_bytes(std::span(bytes))));
}

absl::StatusOr<archive::TransferFilter> FilterOf(const v1::ListTransfersRequest& request) {
  archive::TransferFilter filter{.job_id = request.job_id(), .destination = request.destination()};
  if (request.state_size() > v1::TransferState_ARRAYSIZE) {
    return absl::InvalidArgumentError(absl::StrCat("state has ", request.state_size(),
                                                   " entries; legal is 0 to ",
                                                   v1::TransferState_ARRAYSIZE));
  }
  for (const int state : request.state()) {
    if (!v1::TransferState_IsValid(state) || state == v1::TRANSFER_STATE_UNSPECIFIED) {
      return absl::InvalidArgumentError(
          absl::StrCat("state is ", state, "; legal is a TransferState of this version"));
    }
    filter.states.push_back(static_cast<archive::TransferState>(state - 1));
  }
  if (request.page_token().empty()) return filter;
  const std::vector<std::string> parts = absl::StrSplit(request.page_token(), '-');
  int64_t key = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &key)) {
    return absl::InvalidArgumentError(
        "page_token is not one; legal is next_page_token of an earlier answer, or empty");
  }
  if (parts[0] != FingerprintOf(request)) {
    return absl::InvalidArgumentError(
        "page_token belongs to another filter; legal is the filter of the first page");
  }
  filter.before_key = key;
  return filter;
}

absl::Status ListPage(archive::TransferQueue& queue, const v1::ListTransfersRequest& request,
                      v1::ListTransfersResponse& response) {
  if (request.page_size() < 0 || request.page_size() > kLargestPageSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size is ", request.page_size(), "; legal is 0 to ", kLargestPageSize));
  }
  const int page_size = request.page_size() == 0 ? kDefaultPageSize : request.page_size();
  ISO_ASSIGN_OR_RETURN(const archive::TransferFilter filter, FilterOf(request));
  ISO_ASSIGN_OR_RETURN(std::vector<archive::Transfer> page, queue.List(filter, page_size + 1));
  const bool more = static_cast<int>(page.size()) > page_size;
  if (more) page.pop_back();
  if (page.empty() && !filter.destination.empty() && !filter.before_key) {
    // One that is not configured any more may still have transfers.
    ISO_RETURN_IF_ERROR(queue.CheckDestination(filter.destination));
  }
  for (const archive::Transfer& transfer : page) *response.add_transfer() = ToProto(transfer);
  if (more) {
    response.set_next_page_token(absl::StrCat(FingerprintOf(request), "-", page.back().first_key));
  }
  return absl::OkStatus();
}

/// Which jobs a request for several is about.
struct JobChoice {
  std::string patient_id;  // empty: of all
  std::optional<absl::Time> begin, end;
};

absl::StatusOr<JobChoice> ChoiceOf(const v1::SendJobsRequest& request) {
  JobChoice choice{.patient_id = request.patient_id()};
  if (request.has_begin() != request.has_end()) {
    return absl::InvalidArgumentError("begin or end is missing; legal are both, or neither");
  }
  if (request.has_begin()) {
    choice.begin = wire::TimeFromProto(request.begin());
    choice.end = wire::TimeFromProto(request.end());
    if (*choice.begin >= *choice.end) {
      return absl::InvalidArgumentError(absl::StrCat(
          "begin is ", absl::FormatTime(*choice.begin, absl::UTCTimeZone()),
          "; legal is a time before end, ", absl::FormatTime(*choice.end, absl::UTCTimeZone())));
    }
  }
  if (choice.patient_id.empty() && !choice.begin) {
    return absl::InvalidArgumentError(
        "patient_id, begin and end are empty; legal is a patient, a time, or both");
  }
  return choice;
}

/// Completed ones, newest first. Errors: INVALID_ARGUMENT (too many for one request).
absl::StatusOr<std::vector<jobs::JobSnapshot>> Chosen(const jobs::JobTable& table,
                                                      const JobChoice& choice) {
  std::vector<jobs::JobSnapshot> chosen;
  std::optional<jobs::JobCursor> cursor;
  while (true) {
    const std::vector<jobs::JobSnapshot> page =
        table.List({.states = {jobs::JobState::kCompleted}}, cursor, kLargestPageSize);
    bool older = false;  // than all that is meant, from here on
    for (const jobs::JobSnapshot& job : page) {
      older = choice.begin && job->create_time < *choice.begin;
      if (older) break;
      const bool in_time = !choice.end || job->create_time < *choice.end;
      const bool of_patient =
          choice.patient_id.empty() || job->patient_study.patient_id == choice.patient_id;
      if (in_time && of_patient) chosen.push_back(job);
    }
    if (chosen.size() > kMostSentAtOnce) {
      return absl::InvalidArgumentError(absl::StrCat(
          "more than ", kMostSentAtOnce, " jobs are meant; legal is a shorter time, or a patient"));
    }
    if (older || static_cast<int>(page.size()) < kLargestPageSize) return chosen;
    cursor = jobs::JobCursor{page.back()->create_time, page.back()->id};
  }
}

void LogSend(const std::string& job_id, const std::string& destination, const std::string& caller,
             bool again, int64_t queued) {
  spdlog::info("event=send_requested job={} destination='{}' by=\"{}\" again={} instances={}",
               job_id, destination, caller, again, queued);
}

}  // namespace

v1::Transfer ToProto(const archive::Transfer& transfer) {
  const auto count = [&](archive::TransferState state) {
    return static_cast<uint32_t>(archive::CountOf(transfer.counts, state));
  };
  v1::Transfer proto;
  proto.set_job_id(transfer.job_id);
  proto.set_destination(transfer.destination);
  proto.set_state(StateToProto(transfer.state));
  proto.set_queued_count(count(archive::TransferState::kQueued));
  proto.set_sending_count(count(archive::TransferState::kSending));
  proto.set_sent_count(count(archive::TransferState::kSent));
  proto.set_committed_count(count(archive::TransferState::kCommitted));
  proto.set_failed_count(count(archive::TransferState::kFailed));
  proto.set_skipped_count(count(archive::TransferState::kSkipped));
  if (transfer.next_try) *proto.mutable_next_attempt_time() = TimestampToProto(*transfer.next_try);
  proto.set_reason(transfer.reason);
  proto.set_attempts(static_cast<uint32_t>(transfer.attempts));
  proto.set_storage_commitment(transfer.storage_commitment);
  proto.set_done(transfer.done);
  *proto.mutable_enqueue_time() = TimestampToProto(transfer.enqueue_time);
  *proto.mutable_update_time() = TimestampToProto(transfer.update_time);
  return proto;
}

std::vector<v1::Transfer> TransfersOf(archive::TransferQueue& queue, const std::string& job_id) {
  std::vector<v1::Transfer> transfers;
  const auto found = queue.List({.job_id = job_id}, kDestinationsShown);
  if (!found.ok()) return transfers;
  for (const archive::Transfer& transfer : *found) transfers.push_back(ToProto(transfer));
  return transfers;
}

void TransferService::OnListTransfers(
    UnaryCall<v1::ListTransfersRequest, v1::ListTransfersResponse>& call) {
  if (queue_ == nullptr) return call.Answer(absl::OkStatus());
  call.Answer(ListPage(*queue_, call.request(), call.response()));
}

absl::StatusOr<std::string> TransferService::DestinationOf(const std::string& named) const {
  std::vector<archive::Destination> known;
  if (queue_ != nullptr) known = queue_->destinations();
  if (known.empty()) {
    return absl::NotFoundError("no destination is configured (dicom_node.destination)");
  }
  if (named.empty() && known.size() == 1) return known.front().ae_title;
  ISO_RETURN_IF_ERROR(queue_->CheckDestination(named));
  return named;
}

absl::Status TransferService::Send(const v1::SendJobRequest& request, const std::string& caller,
                                   v1::SendJobResponse& response) {
  ISO_RETURN_IF_ERROR(table_.Get(request.job_id()).status());
  ISO_ASSIGN_OR_RETURN(const std::string destination, DestinationOf(request.destination()));
  ISO_ASSIGN_OR_RETURN(const int64_t queued,
                       queue_->Send(request.job_id(), destination, request.again(), clock_()));
  response.set_newly_queued_count(static_cast<uint32_t>(queued));
  LogSend(request.job_id(), destination, caller, request.again(), queued);
  ISO_ASSIGN_OR_RETURN(const std::vector<archive::Transfer> sent,
                       queue_->List({.job_id = request.job_id(), .destination = destination}, 1));
  if (!sent.empty()) *response.mutable_transfer() = ToProto(sent.front());
  return absl::OkStatus();
}

void TransferService::OnSendJob(UnaryCall<v1::SendJobRequest, v1::SendJobResponse>& call) {
  const Permit& permit = call.permit();
  const v1::SendJobRequest& request = call.request();
  const absl::Status sent = Send(request, permit.caller(), call.response());
  permit.Record(audit::Action::kSend, *node::JobNamed(table_, request.job_id()), sent,
                [&](audit::Event& event) {
                  event.destination =
                      sent.ok() ? call.response().transfer().destination() : request.destination();
                });
  call.Answer(sent);
}

void TransferService::OnSendJobs(UnaryCall<v1::SendJobsRequest, v1::SendJobsResponse>& call) {
  const Permit& permit = call.permit();
  const v1::SendJobsRequest& request = call.request();
  const absl::StatusOr<JobChoice> choice = ChoiceOf(request);
  if (!choice.ok()) return call.Answer(choice.status());
  const absl::StatusOr<std::string> destination = DestinationOf(request.destination());
  if (!destination.ok()) return call.Answer(destination.status());
  const absl::StatusOr<std::vector<jobs::JobSnapshot>> jobs = Chosen(table_, *choice);
  if (!jobs.ok()) return call.Answer(jobs.status());
  std::vector<std::string> ids;
  for (const jobs::JobSnapshot& job : *jobs) ids.push_back(job->id);
  const std::vector<absl::StatusOr<int64_t>> outcomes =
      queue_->SendAll(ids, *destination, request.again(), clock_());
  for (size_t i = 0; i < jobs->size(); ++i) {
    const jobs::Job& job = *(*jobs)[i];
    permit.Record(audit::Action::kSend, job, outcomes[i].status(),
                  [&](audit::Event& event) { event.destination = *destination; });
    v1::SentJob& answer = *call.response().add_job();
    answer.set_job_id(job.id);
    answer.set_series_instance_uid(job.result.series_instance_uid);
    if (!outcomes[i].ok()) {
      answer.set_error_message(std::string(outcomes[i].status().message()));
      continue;
    }
    answer.set_newly_queued_count(static_cast<uint32_t>(*outcomes[i]));
    LogSend(job.id, *destination, permit.caller(), request.again(), *outcomes[i]);
    const auto sent = queue_->List({.job_id = job.id, .destination = *destination}, 1);
    if (sent.ok() && !sent->empty()) *answer.mutable_transfer() = ToProto(sent->front());
  }
  call.Answer(absl::OkStatus());
}

void TransferService::OnRetryTransfers(
    UnaryCall<v1::RetryTransfersRequest, v1::RetryTransfersResponse>& call) {
  const Permit& permit = call.permit();
  const v1::RetryTransfersRequest& request = call.request();
  if (request.job_id().empty() && request.destination().empty() && !request.all()) {
    return call.Answer(absl::InvalidArgumentError(
        "job_id and destination are empty; legal is at least one of them, or all: true"));
  }
  if (queue_ == nullptr) {  // nothing was done
    return call.Answer(request.destination().empty()
                           ? absl::OkStatus()
                           : DestinationOf(request.destination()).status());
  }
  const absl::StatusOr<int64_t> count =
      queue_->Retry(request.job_id(), request.destination(), clock_());
  if (count.ok()) {
    call.response().set_instance_count(static_cast<uint32_t>(*count));
    spdlog::info("event=retry_requested job={} destination='{}' instances={} by=\"{}\"",
                 request.job_id(), request.destination(), *count, permit.caller());
  }
  permit.Record(audit::Action::kRetry, *node::JobNamed(table_, request.job_id()), count.status(),
                [&](audit::Event& event) { event.destination = request.destination(); });
  call.Answer(count.status());
}

}  // namespace isocenter::rpc
