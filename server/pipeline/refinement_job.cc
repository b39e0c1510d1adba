#include "server/pipeline/refinement_job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/device_lost.h"
#include "server/pipeline/job_record.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {
namespace {

using jobs::Job;
using jobs::JobState;

// Within an iteration; its end is told at once.
constexpr absl::Duration kBetweenProgress = absl::Milliseconds(200);

jobs::IterationReport ReportOf(const recon::IterationReport& report) {
  return {report.iteration, report.relative_residual, report.objective, report.seconds};
}

}  // namespace

RefinementJob::RefinementJob(const Job& job, RefinementRequest request,
                             RefinementEnvironment environment)
    : id_(job.id),
      source_id_(job.source_job_ids.front()),
      request_(std::move(request)),
      grid_(job.grid),
      environment_(std::move(environment)),
      accepted_time_(job.create_time),
      urgency_{job.job_class, job.deadline},
      export_(environment_.exporter.NewLane(urgency_)) {}

absl::Status RefinementJob::SetInput(RefinementInput input) {
  auto ledger = std::make_unique<const FrameLedger>(input.spool->states(), input.missing_frames);
  if (!ledger->complete()) {
    return absl::DataLossError(
        absl::StrCat(ledger->frames() - ledger->present() - ledger->lost(), " of ",
                     ledger->frames(), " frames of job '", source_id_,
                     "' are damaged in the spool; what was reconstructed from them stands"));
  }
  absl::MutexLock lock(&mutex_);
  input_ = std::make_unique<const RefinementInput>(std::move(input));
  ledger_ = std::move(ledger);
  return absl::OkStatus();
}

const recon::Acquisition* RefinementJob::acquisition() const {
  absl::MutexLock lock(&mutex_);
  return input_ == nullptr ? nullptr : &input_->acquisition;
}

bool RefinementJob::waits() const {
  absl::MutexLock lock(&mutex_);
  return !ended_ && input_ != nullptr && run_ == nullptr;
}

std::shared_ptr<RefinementRun> RefinementJob::run() const {
  absl::MutexLock lock(&mutex_);
  return run_;
}

bool RefinementJob::IsCurrent(const std::shared_ptr<RefinementRun>& run) const {
  absl::MutexLock lock(&mutex_);
  return !ended_ && run_ == run;
}

void RefinementJob::StartRun(std::shared_ptr<RefinementRun> run) {
  {
    absl::MutexLock lock(&mutex_);
    if (ended_) return;
    run_ = run;
  }
  const std::string backend(run->place().devices[0]->backend());
  environment_.table.Update(id_, [&](Job& job) {
    job.result.backend = backend;
    job.refinement.iterations.clear();
    job.progress.frames_backprojected = job.progress.iterations_done = 0;
    job.progress.refined_fraction = 0;
  });
  Submit(run);
}

std::shared_ptr<RefinementRun> RefinementJob::DropRun() {
  absl::MutexLock lock(&mutex_);
  if (ended_ || storing_) return nullptr;
  return std::exchange(run_, nullptr);
}

// ---- Computation -------------------------------------------------------------------------------

void RefinementJob::Submit(const std::shared_ptr<RefinementRun>& run) {
  // Whoever takes the run from the job does so under the lock and drops its units afterwards: none
  // may be added later, which would hold the run's memory when everybody believes that it is free.
  absl::MutexLock lock(&mutex_);
  if (ended_ || run_ != run) return;
  run->lane().Submit([self = shared_from_this(), run] { self->Work(run); });
}

void RefinementJob::Work(const std::shared_ptr<RefinementRun>& run) {
  const RefinementInput* input = nullptr;
  const FrameLedger* ledger = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || run_ != run) return;
    input = input_.get();
    ledger = ledger_.get();
  }
  if (absl::Now() >= urgency_.deadline) return FinishVolume(run, /*all_done=*/false);
  if (run->iterating()) EnterRefining();
  const absl::Status ready = environment_.keeper.BeforeUnit(run->place());
  const absl::StatusOr<bool> done =
      ready.ok() ? run->Advance(*input->spool, *ledger) : absl::StatusOr<bool>(ready);
  if (!done.ok()) return OnRunFailed(run, done.status());
  if (!IsCurrent(run)) return;
  PublishProgress(*run, *done || run->iteration_ended());
  if (*done) return FinishVolume(run, /*all_done=*/true);
  Submit(run);
}

void RefinementJob::EnterRefining() {
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(refining_, true)) return;
  }
  LogUnsaved(id_, environment_.table.Transition(id_, JobState::kRefining));
}

void RefinementJob::PublishProgress(RefinementRun& run, bool at_once) {
  const absl::Time now = absl::Now();
  {
    absl::MutexLock lock(&mutex_);
    if (!at_once && now - last_progress_ < kBetweenProgress) return;
    last_progress_ = now;
  }
  const auto reports = run.reports();
  const double fraction = run.progress();
  environment_.table.Update(id_, [&](Job& job) {
    job.progress.frames_backprojected = run.frames_backprojected();
    job.progress.refined_fraction = fraction;
    job.progress.iterations_done = static_cast<int>(reports.size());
    job.refinement.iterations.clear();
    for (const recon::IterationReport& report : reports) {
      job.refinement.iterations.push_back(ReportOf(report));
    }
    if (fraction > 0) {
      const absl::Duration left = (now - run.iterations_begin()) * ((1 - fraction) / fraction);
      job.predicted_finish = std::min(now + left, urgency_.deadline);
    }
  });
}

void RefinementJob::FinishVolume(const std::shared_ptr<RefinementRun>& run, bool all_done) {
  const size_t iterations = run->reports().size();
  if (!all_done && !(run->progress() > 0)) {
    return Fail(absl::DeadlineExceededError(
        absl::StrCat("the deadline passed before the first iteration; the volume of job '",
                     source_id_, "' stands")));
  }
  if (!all_done) PublishProgress(*run, /*at_once=*/true);
  if (const absl::Status status = run->Finish(); !status.ok()) return OnRunFailed(run, status);
  if (!all_done) {
    Warn({jobs::WarningKind::kStoppedEarly, std::nullopt,
          absl::StrCat("stopped after ", iterations, " of ", request_.settings.iterations,
                       " iterations: the deadline has passed")});
  }
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || run_ != run) return;
    storing_ = true;
  }
  const double refine_seconds = absl::ToDoubleSeconds(absl::Now() - run->iterations_begin());
  const recon::StageSeconds& fdk = run->fdk_seconds();
  LogUnsaved(id_, environment_.table.Transition(id_, JobState::kExporting, [&](Job& job) {
    RecordStages(fdk, job.result.timings);
    job.result.timings.refine = refine_seconds;
  }));
  export_->Submit([self = shared_from_this(), run] { self->StoreVolume(run); });
}

absl::StatusOr<jobs::StoredSeries> RefinementJob::Store(RefinementRun& run) {
  ISO_RETURN_IF_ERROR(environment_.keeper.MakeRoomFor(grid_));
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, environment_.table.Get(id_));
  return environment_.results.Store(*job, run.volume(), nullptr, [&](int slices) {
    environment_.table.Update(id_,
                              [&](Job& changed) { changed.progress.slices_exported = slices; });
    return !cancel_requested_;
  });
}

void RefinementJob::StoreVolume(const std::shared_ptr<RefinementRun>& run) {
  const absl::Time begin = absl::Now();
  bool cancelled = false;
  {
    absl::MutexLock lock(&mutex_);
    cancelled = ended_;
    export_begun_ = true;
  }
  if (cancelled) return FreeMemory();
  const absl::StatusOr<jobs::StoredSeries> stored = Store(*run);
  bool suspended = false;
  absl::Status why = stored.status();
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
    suspended = suspended_;
    if (cancel_requested_) why = end_reason_;
  }
  if (!stored.ok()) {
    if (suspended) return FreeMemory();
    return PublishEnd(cancel_requested_ ? JobState::kCancelled : JobState::kFailed, why);
  }
  SaveTrace(id_, run->trace(), run->PlanText(), environment_.table);
  const absl::Time end = absl::Now();
  PublishEnd(JobState::kCompleted, absl::OkStatus(), [&](Job& changed) {
    jobs::RecordStored(*stored, changed);
    changed.result.timings.export_ = absl::ToDoubleSeconds(end - begin);
    changed.result.timings.total = absl::ToDoubleSeconds(end - accepted_time_);
  });
}

void RefinementJob::OnRunFailed(const std::shared_ptr<RefinementRun>& run,
                                const absl::Status& why) {
  if (!IsCurrent(run)) return;
  if (ops::IsDeviceLost(why)) {
    environment_.keeper.OnDeviceLost(run->place(), why);
  } else {
    Fail(why);
  }
}

// ---- State -------------------------------------------------------------------------------------

void RefinementJob::Warn(jobs::JobWarning warning) {
  PublishWarning(id_, warning, environment_.table, environment_.observer);
}

}  // namespace isocenter::pipeline
