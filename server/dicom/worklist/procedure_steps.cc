#include "server/dicom/worklist/procedure_steps.h"

#include <pthread.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/dicom/net/library.h"
#include "server/dicom/objects/request_attributes.h"

namespace isocenter::dicom {
namespace {

constexpr double kJitter = 0.2;

/// What is known of a job that nobody knows any more: enough to end its step.
jobs::Job ForgottenJob(const std::string& id) {
  jobs::Job job;
  job.id = id;
  job.state = jobs::JobState::kFailed;
  job.end_time = absl::Now();
  return job;
}

/// Another node has the job, under the same id, and so its step, under the same UID: how that ends
/// is for it to say (docs/adr/0103).
bool IsHandedBack(const jobs::Job& job) {
  return job.state == jobs::JobState::kCancelled && absl::IsAborted(job.error);
}

}  // namespace

ProcedureSteps::ProcedureSteps(ProcedureStepOptions options, archive::Archive& archive,
                               std::unique_ptr<archive::ProcedureStepQueue> queue)
    : options_(std::move(options)),
      archive_(archive),
      queue_(std::move(queue)),
      backoff_(options_.first_pause, options_.longest_pause) {}

absl::StatusOr<std::unique_ptr<ProcedureSteps>> ProcedureSteps::Start(ProcedureStepOptions options,
                                                                      archive::Archive& archive,
                                                                      const jobs::JobTable& table) {
  ConfigureLibrary();
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<archive::ProcedureStepQueue> queue,
                       archive::ProcedureStepQueue::Open(options.file));
  std::set<std::string> known;
  for (const jobs::JobSnapshot& job :
       table.List({}, std::nullopt, std::numeric_limits<int>::max())) {
    known.insert(job->id);
  }
  ISO_RETURN_IF_ERROR(queue->KeepOnly(known));
  ISO_ASSIGN_OR_RETURN(const std::vector<std::string> in_progress, queue->InProgress());
  std::unique_ptr<ProcedureSteps> steps(
      new ProcedureSteps(std::move(options), archive, std::move(queue)));
  steps->Recover(table, in_progress);
  steps->thread_ = std::thread([raw = steps.get()] { raw->Work(); });
  return steps;
}

ProcedureSteps::~ProcedureSteps() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  interruptor_.Interrupt();
  if (thread_.joinable()) thread_.join();
}

void ProcedureSteps::Recover(const jobs::JobTable& table,
                             const std::vector<std::string>& in_progress) {
  for (const std::string& id : in_progress) {
    const absl::StatusOr<jobs::JobSnapshot> job = table.Get(id);
    if (!job.ok()) {
      Post(ForgottenJob(id), /*ends=*/true);
    } else if (jobs::HasEnded((*job)->state)) {
      Post(**job, /*ends=*/true);
    }
  }
}

void ProcedureSteps::OnBegan(const jobs::Job& job) {
  if (jobs::IsAcquisition(job)) Post(job, /*ends=*/false);
}

void ProcedureSteps::OnEnded(const jobs::Job& job) {
  if (jobs::IsAcquisition(job) && job.progress.frames_received > 0) Post(job, /*ends=*/true);
}

void ProcedureSteps::Post(const jobs::Job& job, bool ends) {
  auto copy = std::make_shared<const jobs::Job>(job);
  absl::MutexLock lock(&mutex_);
  events_.push_back({std::move(copy), ends});
  news_ = true;
}

void ProcedureSteps::Work() {
  pthread_setname_np(pthread_self(), "iso-mpps");
  absl::Time due = absl::InfinitePast();
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      auto something = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || news_; };
      mutex_.AwaitWithDeadline(absl::Condition(&something), due);
      news_ = false;
      if (std::exchange(retry_, false)) {
        failures_ = 0;
        pause_until_ = absl::InfinitePast();
        rejected_until_.clear();
      }
    }
    Record();
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return;
    }
    due = SendDue();
  }
}

void ProcedureSteps::Record() {
  while (true) {
    Event event;
    {
      absl::MutexLock lock(&mutex_);
      if (events_.empty()) return;
      event = events_.front();
    }
    if (const absl::Status recorded = Record(event); !recorded.ok()) {
      spdlog::error("dicom: procedure step of job {} is not recorded: {}", event.job->id,
                    recorded.ToString());
      pause_until_ = After(++failures_);
      return;
    }
    absl::MutexLock lock(&mutex_);
    events_.pop_front();
  }
}

absl::Status ProcedureSteps::Record(const Event& event) {
  const jobs::Job& job = *event.job;
  if (IsHandedBack(job)) {
    const absl::Status dropped = queue_->Drop(job.id);
    const bool has_nothing_to_send =
        absl::IsNotFound(dropped) || absl::IsFailedPrecondition(dropped);
    return has_nothing_to_send ? absl::OkStatus() : dropped;
  }
  const std::string& ae_title = options_.node.ae_title;
  // One that ended at once may have come here first.
  ISO_ASSIGN_OR_RETURN(const std::string begun, ProcedureStepBegun(job, ae_title));
  ISO_RETURN_IF_ERROR(queue_->Begin(job.id, begun, job.create_time));
  if (!event.ends) return absl::OkStatus();
  std::vector<PerformedSeries> series;
  if (job.state == jobs::JobState::kCompleted) {
    ISO_ASSIGN_OR_RETURN(series, SeriesOf(job));
  }
  ISO_ASSIGN_OR_RETURN(const std::string ended, ProcedureStepEnded(job, series, ae_title));
  return queue_->End(job.id, ended);
}

absl::StatusOr<std::vector<PerformedSeries>> ProcedureSteps::SeriesOf(const jobs::Job& job) {
  ISO_ASSIGN_OR_RETURN(const std::vector<archive::SeriesRow> rows,
                       archive_.FindSeries({.study_uids = {job.result.study_instance_uid}}));
  std::vector<PerformedSeries> series;
  for (const archive::SeriesRow& row : rows) {
    if (row.job_id != job.id) continue;
    ISO_ASSIGN_OR_RETURN(std::vector<archive::InstanceRow> instances,
                         archive_.FindInstances(row.series.instance_uid));
    series.push_back({row.series, std::move(instances)});
  }
  return series;
}

absl::Time ProcedureSteps::SendDue() {
  while (true) {
    const absl::Time now = absl::Now();
    if (now < pause_until_) return pause_until_;
    absl::StatusOr<std::vector<archive::ProcedureStepQueue::Message>> waiting = queue_->Next();
    absl::Time next = absl::InfiniteFuture();
    absl::Status sent = waiting.status();
    if (sent.ok()) {
      std::erase_if(*waiting, [&](const archive::ProcedureStepQueue::Message& message) {
        const auto rejected = rejected_until_.find(message.step);
        if (rejected == rejected_until_.end() || rejected->second <= now) return false;
        next = std::min(next, rejected->second);
        return true;
      });
      if (waiting->empty()) return next;
      sent = SendAll(*waiting);
    }
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return absl::InfinitePast();
      trouble_ = sent.ok() ? "" : std::string(sent.message());
    }
    if (sent.ok()) {
      failures_ = 0;
      continue;  // the ends of steps whose beginning was sent
    }
    pause_until_ = After(++failures_);
    spdlog::warn("dicom: procedure steps for '{}' wait: {}", options_.peer.ae_title,
                 sent.ToString());
    Report(NodeOutcome::kFailure);
  }
}

absl::Status ProcedureSteps::SendAll(const std::vector<archive::ProcedureStepQueue::Message>& due) {
  ISO_ASSIGN_OR_RETURN(Association association,
                       RequestProcedureSteps(options_.peer, options_.node, interruptor_));
  for (const archive::ProcedureStepQueue::Message& message : due) {
    const absl::StatusOr<ProcedureStepAnswer> answer = SendProcedureStep(association, message);
    if (absl::IsDataLoss(answer.status())) {
      ISO_RETURN_IF_ERROR(Settle(
          message, {ProcedureStepAnswer::Kind::kRefused, std::string(answer.status().message())}));
      continue;
    }
    ISO_RETURN_IF_ERROR(answer.status());
    ISO_RETURN_IF_ERROR(Settle(message, *answer));
  }
  association.Release();
  return absl::OkStatus();
}

absl::Status ProcedureSteps::Settle(const archive::ProcedureStepQueue::Message& message,
                                    const ProcedureStepAnswer& answer) {
  const char* const what = message.creates ? "N-CREATE" : "N-SET";
  if (answer.kind == ProcedureStepAnswer::Kind::kTaken) {
    spdlog::info("dicom: {} of the procedure step of job {} sent to '{}'", what, message.job_id,
                 options_.peer.ae_title);
    Report(NodeOutcome::kSuccess);
    rejected_until_.erase(message.step);
    return queue_->MarkSent(message);
  }
  Report(NodeOutcome::kRejected);
  const std::string reason =
      absl::StrCat(options_.peer.ae_title, " rejects ", what, ": ", answer.text);
  const bool given_up = answer.kind == ProcedureStepAnswer::Kind::kRefused ||
                        message.rejections + 1 >= options_.most_rejections;
  spdlog::log(given_up ? spdlog::level::err : spdlog::level::warn,
              "dicom: '{}' rejects {} of the procedure step of job {}{}: {}",
              options_.peer.ae_title, what, message.job_id, given_up ? ", which is given up" : "",
              answer.text);
  if (given_up) {
    rejected_until_.erase(message.step);
    return queue_->GiveUp(message, reason);
  }
  rejected_until_[message.step] = After(message.rejections + 1);
  return queue_->MarkRejected(message, reason);
}

jobs::ProcedureStep ProcedureSteps::Completed(jobs::ProcedureStep step) {
  step.sop_instance_uid = ProcedureStepUid(step.job_id);
  if (!step.reason.empty() || (step.state != jobs::ProcedureStepState::kBeginning &&
                               step.state != jobs::ProcedureStepState::kEnding)) {
    return step;
  }
  absl::MutexLock lock(&mutex_);
  step.reason = trouble_;
  return step;
}

absl::StatusOr<std::vector<jobs::ProcedureStep>> ProcedureSteps::List(
    const std::vector<jobs::ProcedureStepState>& states, int most) {
  ISO_ASSIGN_OR_RETURN(std::vector<jobs::ProcedureStep> steps, queue_->List(states, most));
  for (jobs::ProcedureStep& step : steps) step = Completed(std::move(step));
  return steps;
}

absl::StatusOr<jobs::ProcedureStep> ProcedureSteps::Get(const std::string& job_id) {
  ISO_ASSIGN_OR_RETURN(jobs::ProcedureStep step, queue_->Get(job_id));
  return Completed(std::move(step));
}

absl::StatusOr<jobs::ProcedureStep> ProcedureSteps::Retry(const std::string& job_id) {
  ISO_RETURN_IF_ERROR(queue_->Retry(job_id));
  {
    absl::MutexLock lock(&mutex_);
    retry_ = news_ = true;
  }
  return Get(job_id);
}

absl::StatusOr<jobs::ProcedureStep> ProcedureSteps::Drop(const std::string& job_id) {
  ISO_RETURN_IF_ERROR(queue_->Drop(job_id));
  return Get(job_id);
}

absl::Time ProcedureSteps::After(int attempts) {
  return absl::Now() + backoff_.After(attempts) * absl::Uniform(random_, 1 - kJitter, 1 + kJitter);
}

void ProcedureSteps::Report(NodeOutcome outcome) const {
  if (options_.observer) options_.observer(outcome);
}

}  // namespace isocenter::dicom
