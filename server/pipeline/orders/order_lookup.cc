#include "server/pipeline/orders/order_lookup.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/pipeline/pair.h"

namespace isocenter::pipeline {
namespace {

/// The other half of a job's pair, where its order is settled.
jobs::JobSnapshot SettledHalf(const jobs::JobTable& table, const AcquisitionRequest& request) {
  if (request.pair_id.empty()) return nullptr;
  const Pair pair = FindPair(table, request.pair_id);
  const jobs::JobSnapshot& other =
      request.pair_role == jobs::PairRole::kMask ? pair.fill : pair.mask;
  return other != nullptr && other->order.settled ? other : nullptr;
}

}  // namespace

void OrderLookup::Begin(const std::shared_ptr<ReconstructionJob>& job) {
  if (worklist_ == nullptr) return;
  const absl::StatusOr<jobs::JobSnapshot> snapshot = table_.Get(job->id());
  if (!snapshot.ok() || (*snapshot)->order.settled || !CanBeAsked((*snapshot)->patient_study)) {
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    pending_[job->id()] = {.job = job, .deadline = clock_() + timeout_};
  }
  lane_->Submit([this, id = job->id()] { Ask(id); });
}

void OrderLookup::WhenSettled(const std::string& job_id, Then then) {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = pending_.find(job_id);
    if (found != pending_.end()) {
      found->second.then.push_back(std::move(then));
      return;
    }
  }
  then(true);
}

absl::Time OrderLookup::EndOverdue() {
  const absl::Time now = clock_();
  std::vector<std::string> overdue;
  absl::Time next = absl::InfiniteFuture();
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, pending] : pending_) {
      if (pending.settling) continue;
      if (pending.deadline <= now) {
        overdue.push_back(id);
      } else {
        next = std::min(next, pending.deadline);
      }
    }
  }
  for (const std::string& id : overdue) {
    Settle(id, absl::DeadlineExceededError(
                   absl::StrCat("no answer within ", absl::FormatDuration(timeout_))));
  }
  return next;
}

void OrderLookup::Stop() {
  std::map<std::string, Pending> dropped;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    dropped.swap(pending_);
  }
  if (worklist_ != nullptr) worklist_->Interrupt();
  for (const auto& [id, pending] : dropped) {
    for (const Then& then : pending.then) then(false);
  }
}

void OrderLookup::Ask(const std::string& job_id) {
  std::shared_ptr<ReconstructionJob> job;
  absl::Time deadline;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = pending_.find(job_id);
    if (found == pending_.end() || found->second.settling) return;
    job = found->second.job;
    deadline = found->second.deadline;
  }
  Settle(job_id, Find(*job, deadline));
}

absl::StatusOr<OrderMatch> OrderLookup::Find(const ReconstructionJob& job, absl::Time deadline) {
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot snapshot, table_.Get(job.id()));
  const jobs::PatientStudy& header = snapshot->patient_study;
  if (const auto other = SettledHalf(table_, job.request())) return MatchPair(header, *other);
  if (clock_() >= deadline) return absl::DeadlineExceededError("it was busy with other jobs");
  ISO_ASSIGN_OR_RETURN(const jobs::WorklistAnswer answer,
                       worklist_->Find(QueryOf(header), deadline));
  return MatchOrder(header, answer.steps);
}

void OrderLookup::Settle(const std::string& job_id, const absl::StatusOr<OrderMatch>& found) {
  std::shared_ptr<ReconstructionJob> job;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = pending_.find(job_id);
    if (entry == pending_.end() || entry->second.settling) return;
    entry->second.settling = true;
    job = entry->second.job;
  }
  std::vector<jobs::JobWarning> warnings;
  if (found.ok()) {
    warnings = found->warnings;
  } else {
    warnings.push_back({jobs::WarningKind::kWorklistUnavailable, std::nullopt,
                        absl::StrCat("the worklist was not heard: ", found.status().message(),
                                     "; patient and study are those of the header")});
  }
  for (jobs::JobWarning& warning : warnings) job->Warn(std::move(warning));
  const absl::Status saved = table_.UpdateAndSave(job_id, [&](jobs::Job& changed) {
    const bool is_reported = changed.order.is_reported;
    if (found.ok()) {
      changed.patient_study = found->patient_study;
      changed.order = found->order;
    } else {
      changed.order.header_patient_id = changed.patient_study.patient_id;
      changed.order.header_accession_number = changed.patient_study.accession_number;
    }
    changed.order.settled = true;
    changed.order.is_reported = is_reported;
  });
  if (!saved.ok()) {
    spdlog::error("event=save_failed job={} error=\"{}\"", job_id, saved.ToString());
  }
  spdlog::info("event=order_settled job={} outcome={}", job_id,
               !found.ok()                ? "unavailable"
               : !found->warnings.empty() ? "mismatch"
                                          : "matched");
  std::vector<Then> then;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = pending_.find(job_id);
    if (entry == pending_.end()) return;  // stopped, which has called them
    then = std::move(entry->second.then);
    pending_.erase(entry);
  }
  for (const Then& each : then) each(true);
}

}  // namespace isocenter::pipeline
