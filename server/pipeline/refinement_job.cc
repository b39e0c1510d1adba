#include "server/pipeline/refinement_job.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/recon/iterative/residual_finding.h"
#include "server/pipeline/facts.h"
#include "server/pipeline/job_record.h"
#include "server/pipeline/runs/run_maker.h"

namespace isocenter::pipeline {
namespace {

using jobs::Job;
using jobs::JobState;

// Within an iteration; its end is told at once.
constexpr absl::Duration kBetweenProgress = absl::Milliseconds(200);

jobs::IterationReport ReportOf(const recon::IterationReport& report) {
  return {report.iteration, report.relative_residual, report.objective, report.seconds};
}

/// Named as a protocol names them.
std::optional<std::string> ResidualFinding(std::span<const recon::IterationReport> reports,
                                           const recon::RefinementSettings& settings) {
  const auto* const iterative = std::get_if<recon::IterativeSettings>(&settings);
  if (iterative == nullptr) return std::nullopt;
  std::optional<std::string> residual = recon::ResidualFinding(reports, *iterative);
  if (residual) *residual = absl::StrReplaceAll(*residual, {{"iterative.", "refinement."}});
  return residual;
}

}  // namespace

RefinementJob::RefinementJob(const Job& job, RefinementRequest request,
                             const JobEnvironment& environment,
                             std::function<void(const std::string& source_id)> ended)
    : ActiveJob(job.id, job.grid, {job.job_class, job.deadline}, job.create_time, environment),
      source_id_(job.source_job_ids.front()),
      request_(std::move(request)),
      iterations_(job.progress.iterations_total),
      ended_(std::move(ended)) {}

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

// ---- Waiting -----------------------------------------------------------------------------------

bool RefinementJob::SourceIsCompleted() {
  const absl::StatusOr<jobs::JobSnapshot> source = environment_.table.Get(source_id_);
  if (source.ok() && (*source)->state == JobState::kCompleted) return true;
  if (source.ok() && !jobs::HasEnded((*source)->state)) return false;
  Fail(absl::FailedPreconditionError(
      absl::StrCat("job '", source_id_, "', which was to be refined, ",
                   source.ok() ? absl::StrCat("is ", std::string(jobs::Name((*source)->state)))
                               : std::string("does not exist any more"))));
  return false;
}

void RefinementJob::SeekRun(RunMaker& runs) {
  const RefinementInput* input = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    input = input_.get();
  }
  if (input == nullptr || !SourceIsCompleted()) return;
  if (auto early = input->take_early_run ? input->take_early_run() : nullptr) {
    return StartRun(std::move(early));
  }
  // Before it is tried: who holds what is missing may leave meanwhile.
  const bool others_hold = runs.in_use();
  auto run = runs.MakeRefinement(input->acquisition, input->calibration, grid_, request_, urgency_);
  if (run.ok()) {
    const absl::Status opened = OpenReference(**run);
    if (opened.ok()) return StartRun(*std::move(run));
    run = opened;  // its memory is free before the job ends, and others look for places
    return Fail(opened);
  }
  // What does not fit beside nothing never fits.
  const bool may_fit_later = absl::IsResourceExhausted(run.status()) && others_hold;
  if (!may_fit_later && !absl::IsUnavailable(run.status())) Fail(run.status());
}

// While a job waits, retention or an operator may remove the other one. One that is open is read.
absl::Status RefinementJob::OpenReference(RefinementRun& run) const {
  const std::string& id = request_.reference_job_id;
  if (id.empty()) return absl::OkStatus();
  const absl::StatusOr<std::filesystem::path> file = environment_.results.RawFile(id);
  if (file.ok()) return run.OpenReference(id, *file);
  return absl::FailedPreconditionError(
      absl::StrCat("the volume of job '", id,
                   "', the reference of this self-calibration, was removed before it was read; "
                   "that of job '",
                   source_id_, "' stands"));
}

absl::Time RefinementJob::EndIfOverdue() {
  if (!waits()) return absl::InfiniteFuture();
  if (urgency_.deadline > Now()) return urgency_.deadline;
  Fail(absl::DeadlineExceededError(
      absl::StrCat("the deadline passed while the refinement waited for a device; the volume of "
                   "job '",
                   source_id_, "' stands")));
  return absl::InfiniteFuture();
}

void RefinementJob::StartRun(std::shared_ptr<RefinementRun> run) {
  {
    absl::MutexLock lock(&mutex_);
    if (!TakeRun(run)) return;
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

// ---- Computation -------------------------------------------------------------------------------

void RefinementJob::Submit(const std::shared_ptr<RefinementRun>& run) {
  const auto self = std::static_pointer_cast<RefinementJob>(shared_from_this());
  absl::MutexLock lock(&mutex_);
  if (IsCurrent(run)) run->lane().Submit([self, run] { self->Work(run); });
}

void RefinementJob::Work(const std::shared_ptr<RefinementRun>& run) {
  const RefinementInput* input = nullptr;
  const FrameLedger* ledger = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (!IsCurrent(run)) return;
    input = input_.get();
    ledger = ledger_.get();
  }
  if (Now() >= urgency_.deadline && !run->done()) return FinishVolume(run, /*all_done=*/false);
  if (run->refining()) EnterRefining();
  const absl::Status ready = environment_.keeper.BeforeUnit(run->place());
  const absl::StatusOr<bool> done =
      ready.ok() ? run->Advance(*input->spool, *ledger) : absl::StatusOr<bool>(ready);
  if (!done.ok()) return OnRunFailed(run, done.status());
  if (!IsCurrentNow(run)) return;
  PublishProgress(*run, *done || run->iteration_ended());
  if (*done) return FinishVolume(run, /*all_done=*/true);
  Submit(run);
}

void RefinementJob::EnterRefining() {
  absl::call_once(refining_, [this] {
    LogUnsaved(id_, environment_.table.Transition(id_, JobState::kRefining));
  });
}

void RefinementJob::PublishProgress(RefinementRun& run, bool at_once) {
  const absl::Time now = Now();
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
      const absl::Duration left = (now - run.steps_begin()) * ((1 - fraction) / fraction);
      job.predicted_finish = std::min(now + left, urgency_.deadline);
    }
  });
}

void RefinementJob::FinishVolume(const std::shared_ptr<RefinementRun>& run, bool all_done) {
  const size_t iterations = run->reports().size();
  const std::optional<std::string> residual = ResidualFinding(run->reports(), request_.settings);
  if (!all_done && !run->readable()) {
    return Fail(absl::DeadlineExceededError(
        absl::StrCat("the deadline passed before there was a better volume; that of job '",
                     source_id_, "' stands")));
  }
  if (!all_done) PublishProgress(*run, /*at_once=*/true);
  if (const absl::Status status = run->Finish(); !status.ok()) return OnRunFailed(run, status);
  if (!all_done) {
    Warn({jobs::WarningKind::kStoppedEarly, std::nullopt,
          absl::StrCat("stopped after ", iterations, " of ", iterations_,
                       " iterations: the deadline has passed")});
  }
  {
    absl::MutexLock lock(&mutex_);
    if (!IsCurrent(run)) return;
    Apply(LifeEvent::kVolumeComplete);
  }
  std::vector<std::string> findings = run->findings();
  if (residual) findings.push_back(*residual);
  if (!request_.reference_job_id.empty() && !request_.patient_ids_agree) {
    findings.push_back(absl::StrCat("job '", source_id_, "' or its reference, job '",
                                    request_.reference_job_id,
                                    "', tells no patient id: that both are of one patient is told "
                                    "by their edges alone"));
  }
  for (const std::string& finding : findings) LogFinding(id_, finding);
  // The last step may have been before there was a job (EarlyRefinements).
  const double refine_seconds =
      absl::ToDoubleSeconds(std::min(Now(), run->steps_end()) - run->steps_begin());
  const recon::StageSeconds& fdk = run->fdk_seconds();
  LogUnsaved(id_, environment_.table.Transition(id_, JobState::kExporting, [&](Job& job) {
    RecordStages(fdk, job.result.timings);
    job.result.timings.refine = refine_seconds;
    job.refinement.findings = findings;
    if (run->motion()) job.refinement.motion = MotionFactsOf(*run->motion());
    if (run->self_calibration()) {
      job.refinement.self_calibration = SelfCalibrationFactsOf(*run->self_calibration());
    }
  }));
  SubmitExport(run);
}

absl::StatusOr<ActiveJob::Output> RefinementJob::OutputOf(Run* run) {
  return Output{static_cast<RefinementRun*>(run)->volume(), nullptr};
}

}  // namespace isocenter::pipeline
