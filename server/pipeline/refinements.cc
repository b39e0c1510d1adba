#include "server/pipeline/refinements.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/pipeline/refinement_record.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {

using jobs::Job;
using jobs::JobState;

// ---- New refinements ---------------------------------------------------------------------------

void Refinements::Refine(const std::string& source_id, RefinementRequest request, Done done) {
  opening_->Submit(
      [this, source_id, request = std::move(request), done = std::move(done)]() mutable {
        done(RefineNow(source_id, std::move(request)));
      });
}

absl::StatusOr<jobs::JobSnapshot> Refinements::RefineNow(const std::string& source_id,
                                                         RefinementRequest request) {
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) {
      return absl::UnavailableError("the service is shutting down; use another one");
    }
  }
  if (!request.request_id.empty()) {
    const jobs::JobSnapshot known = environment_.table.FindByRequestId(request.request_id);
    if (known != nullptr) return ExistingRefinement(known, source_id, request);
  }
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot source, environment_.table.Get(source_id));
  ISO_RETURN_IF_ERROR(CheckRefinable(*source));
  Use(source_id);
  absl::StatusOr<RefinementInput> input = OpenInput(source_id);
  if (!input.ok()) {
    EndUse(source_id);
    return input.status();
  }
  const jobs::StoredSeries stored{.study_instance_uid = source->result.study_instance_uid,
                                  .series_instance_uid = source->result.series_instance_uid,
                                  .frame_of_reference_uid = source->result.frame_of_reference_uid};
  Job job = RefinementRecord(jobs::NewJobId(absl::Now()), *source, stored, request, absl::Now());
  return Add(std::move(job), std::move(request), *std::move(input));
}

absl::Status Refinements::Follow(const Job& source, const jobs::StoredSeries& stored,
                                 const AcquisitionRequest& request,
                                 std::shared_ptr<jobs::JobSpool> spool) {
  if (!request.refinement) return absl::OkStatus();
  RefinementRequest refinement = *request.refinement;
  refinement.job_class = request.job_class == jobs::JobClass::kLive ? jobs::JobClass::kInteractive
                                                                    : jobs::JobClass::kBatch;
  Use(source.id);
  Job job =
      RefinementRecord(absl::StrCat(source.id, "-ref"), source, stored, refinement, absl::Now());
  const absl::Status added = Add(std::move(job), std::move(refinement),
                                 {std::move(spool), request.acquisition, request.missing_frames})
                                 .status();
  return absl::IsAlreadyExists(added) ? absl::OkStatus() : added;
}

absl::StatusOr<RefinementInput> Refinements::OpenInput(const std::string& source_id) {
  absl::Status kept = environment_.spool.Retain(source_id);
  if (absl::IsNotFound(kept)) kept = absl::FailedPreconditionError(kept.message());
  ISO_RETURN_IF_ERROR(kept);
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<jobs::JobSpool> spool, environment_.spool.Open(source_id));
  ISO_ASSIGN_OR_RETURN(AcquisitionRequest request, decoders_.acquisition(spool->acquisition()));
  return RefinementInput{std::move(spool), std::move(request.acquisition), request.missing_frames};
}

std::shared_ptr<RefinementJob> Refinements::MakeJob(const Job& job, RefinementRequest request) {
  return std::make_shared<RefinementJob>(
      job, std::move(request),
      RefinementEnvironment{.table = environment_.table,
                            .results = environment_.results,
                            .observer = environment_.observer,
                            .keeper = environment_.keeper,
                            .exporter = environment_.exporter,
                            .ended = [this](RefinementJob& ended) { OnEnded(ended); }});
}

absl::StatusOr<jobs::JobSnapshot> Refinements::Add(Job job, RefinementRequest request,
                                                   RefinementInput input) {
  const std::shared_ptr<RefinementJob> added = MakeJob(job, std::move(request));
  absl::Status status = added->SetInput(std::move(input));
  if (status.ok()) status = environment_.table.Insert(job);
  if (!status.ok()) {
    EndUse(added->source_id());
    return status;
  }
  spdlog::info(
      "event=refinement_accepted job={} refines={} protocol={} algorithm={} class={} "
      "iterations={}",
      job.id, added->source_id(), job.protocol, job.refinement.algorithm,
      std::string(jobs::Name(job.job_class)), job.progress.iterations_total);
  {
    absl::MutexLock lock(&mutex_);
    active_[job.id] = added;
  }
  environment_.changed();
  return std::make_shared<const Job>(std::move(job));
}

// ---- After a restart ---------------------------------------------------------------------------

void Refinements::Recover(const Job& job) {
  const absl::StatusOr<jobs::StoredSeries> stored = environment_.results.Find(job);
  if (stored.ok()) {
    const absl::Status completed = CompleteStored(job, *stored);
    if (!completed.ok()) FailRecord(job, completed);
    return;
  }
  absl::StatusOr<RefinementRequest> request = decoders_.refinement(job.refinement.recipe);
  if (!request.ok()) return FailRecord(job, request.status());
  const std::string source_id = job.source_job_ids.front();
  Use(source_id);
  const std::shared_ptr<RefinementJob> recovered = MakeJob(job, *std::move(request));
  {
    absl::MutexLock lock(&mutex_);
    active_[job.id] = recovered;
  }
  environment_.table.Update(job.id, [](Job& changed) { changed.progress.slices_exported = 0; });
  environment_.observer.OnJobResumed("restart");
  spdlog::info("event=job_recovered job={} refines={}", job.id, source_id);
  opening_->Submit([this, recovered] {
    absl::StatusOr<RefinementInput> input = OpenInput(recovered->source_id());
    const absl::Status status =
        input.ok() ? recovered->SetInput(*std::move(input)) : input.status();
    if (!status.ok()) return recovered->Fail(status);
    environment_.changed();
  });
}

absl::Status Refinements::CompleteStored(const Job& job, const jobs::StoredSeries& stored) {
  if (job.state < JobState::kExporting) {
    ISO_RETURN_IF_ERROR(environment_.table.Transition(job.id, JobState::kExporting));
  }
  return environment_.table.Transition(job.id, JobState::kCompleted, [&](Job& changed) {
    changed.end_time = absl::Now();
    jobs::RecordStored(stored, changed);
  });
}

void Refinements::FailRecord(const Job& job, const absl::Status& why) {
  spdlog::error("event=recovery_failed job={} error=\"{}\"", job.id, why.ToString());
  (void)environment_.table.Transition(job.id, JobState::kFailed, [&](Job& changed) {
    changed.error = why;
    changed.end_time = absl::Now();
  });
}

// ---- Places ------------------------------------------------------------------------------------

bool Refinements::SourceIsCompleted(RefinementJob& job) {
  const absl::StatusOr<jobs::JobSnapshot> source = environment_.table.Get(job.source_id());
  if (source.ok() && (*source)->state == JobState::kCompleted) return true;
  if (source.ok() && !jobs::HasEnded((*source)->state)) return false;
  job.Fail(absl::FailedPreconditionError(
      absl::StrCat("job '", job.source_id(), "', which was to be refined, ",
                   source.ok() ? absl::StrCat("is ", std::string(jobs::Name((*source)->state)))
                               : std::string("does not exist any more"))));
  return false;
}

void Refinements::StartWaiting() {
  std::vector<std::shared_ptr<RefinementJob>> waiting = Active();
  std::erase_if(waiting, [](const auto& job) { return !job->waits(); });
  std::ranges::sort(waiting, [](const auto& a, const auto& b) {
    return std::pair(a->urgency().job_class, a->urgency().deadline) <
           std::pair(b->urgency().job_class, b->urgency().deadline);
  });
  for (const auto& job : waiting) {
    if (!SourceIsCompleted(*job)) continue;
    auto run = environment_.runs.MakeRefinement(*job->acquisition(), job->grid(), job->request(),
                                                job->urgency());
    if (run.ok()) {
      job->StartRun(*std::move(run));
      continue;
    }
    // What does not fit beside nothing never fits.
    const bool may_fit_later =
        absl::IsResourceExhausted(run.status()) && environment_.scheduler.active_jobs() > 0;
    if (!may_fit_later && !absl::IsUnavailable(run.status())) job->Fail(run.status());
  }
}

bool Refinements::any_waits() const {
  return std::ranges::any_of(Active(), [](const auto& job) { return job->waits(); });
}

absl::Time Refinements::EndOverdue() {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& job : Active()) next = std::min(next, job->EndIfOverdue(absl::Now()));
  return next;
}

void Refinements::ReplaceLostRuns() {
  for (const auto& job : Active()) {
    std::shared_ptr<RefinementRun> dropped = job->run();
    if (dropped == nullptr) continue;
    const auto used = environment_.runs.SlotsOf(dropped->place().devices);
    if (std::ranges::all_of(used, [](const auto* slot) { return slot->healthy(); })) continue;
    if (job->DropRun() == nullptr) continue;
    {
      absl::MutexLock lock(&mutex_);
      ++runs_being_freed_;
    }
    dropped->lane().Clear();
    scheduler::DeviceSlot& slot = dropped->slot();
    FreeOnSlotThread(slot, std::move(dropped), [this] {
      absl::MutexLock lock(&mutex_);
      --runs_being_freed_;
    });
    job->Warn({jobs::WarningKind::kDeviceReplaced, std::nullopt,
               "a device failed; the refinement begins again"});
    environment_.observer.OnJobResumed("device");
  }
}

// ---- The end -----------------------------------------------------------------------------------

void Refinements::OnEnded(RefinementJob& job) {
  const absl::StatusOr<jobs::JobSnapshot> snapshot = environment_.table.Get(job.id());
  const bool suspended = snapshot.ok() && !jobs::HasEnded((*snapshot)->state);
  if (!suspended) EndUse(job.source_id());
  environment_.changed();
  std::shared_ptr<RefinementJob> last;  // destroyed after the lock is given back
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(job.id());
  if (found == active_.end()) return;
  last = std::move(found->second);
  active_.erase(found);
}

void Refinements::Use(const std::string& source_id) {
  absl::MutexLock lock(&uses_mutex_);
  ++uses_[source_id];
}

void Refinements::EndUse(const std::string& source_id) {
  {
    absl::MutexLock lock(&uses_mutex_);
    const auto uses = uses_.find(source_id);
    if (uses == uses_.end() || --uses->second > 0) return;
    uses_.erase(uses);
  }
  const absl::StatusOr<jobs::JobSnapshot> source = environment_.table.Get(source_id);
  if (!source.ok() || jobs::HasEnded((*source)->state)) ReleaseFrames(source_id);
}

void Refinements::ReleaseFrames(const std::string& job_id) {
  absl::MutexLock lock(&uses_mutex_);
  if (!uses_.contains(job_id)) environment_.spool.Release(job_id);
}

void Refinements::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  absl::Notification made;
  opening_->Submit([&made] { made.Notify(); });
  made.WaitForNotification();
}

void Refinements::SuspendWaiting() {
  for (const auto& job : Active()) {
    if (job->run() == nullptr) job->Suspend();
  }
}

void Refinements::SuspendAll() {
  for (const auto& job : Active()) job->Suspend();
}

bool Refinements::AwaitNone(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return active_.empty() && runs_being_freed_ == 0;
  };
  return mutex_.AwaitWithDeadline(absl::Condition(&none), deadline);
}

std::shared_ptr<RefinementJob> Refinements::Find(const std::string& job_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(job_id);
  return found == active_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<RefinementJob>> Refinements::Active() const {
  std::vector<std::shared_ptr<RefinementJob>> active;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, job] : active_) active.push_back(job);
  return active;
}

}  // namespace isocenter::pipeline
