// What the engine finds in the spool after a restart goes on.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/pipeline/engine.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {

using jobs::JobState;

void Engine::Recover() {
  RecoverRefinements();  // before the frames that they use could be released
  for (const std::string& id : environment_.spool.Jobs()) {
    const absl::StatusOr<jobs::JobSnapshot> job = environment_.table.Get(id);
    if (!job.ok()) {
      (void)environment_.spool.Remove(id);  // nobody was told that it was accepted
    } else if (jobs::HasEnded((*job)->state)) {
      refinements_.ReleaseFrames(id);
    } else if (const absl::Status status = RecoverJob(**job); !status.ok()) {
      spdlog::error("event=recovery_failed job={} error=\"{}\"", id, status.ToString());
      (void)environment_.table.Transition(id, JobState::kFailed, [&](jobs::Job& changed) {
        changed.error = status;
        changed.end_time = absl::Now();
      });
      environment_.spool.Release(id);
    }
  }
  const auto all = environment_.table.List({}, std::nullopt, std::numeric_limits<int>::max());
  for (const jobs::JobSnapshot& job : all) {
    if (job->pair_role == jobs::PairRole::kSubtraction && !jobs::HasEnded(job->state)) {
      // Begun anew below.
      (void)environment_.table.Transition(job->id, JobState::kFailed);
      (void)environment_.table.Delete(job->id);
    }
  }
  for (const jobs::JobSnapshot& job : all) {
    if (job->pair_role == jobs::PairRole::kFill) SubmitSubtraction(job->pair_id);
  }
  SeekPlaces();
}

void Engine::RecoverRefinements() {
  for (const jobs::JobSnapshot& job :
       environment_.table.List({}, std::nullopt, std::numeric_limits<int>::max())) {
    if (jobs::IsRefinement(*job) && !jobs::HasEnded(job->state)) refinements_.Recover(*job);
  }
}

absl::Status Engine::RecoverJob(const jobs::Job& job) {
  const absl::StatusOr<jobs::StoredSeries> stored = environment_.results.Find(job);
  const absl::StatusOr<std::shared_ptr<jobs::JobSpool>> opened = environment_.spool.Open(job.id);
  absl::StatusOr<AcquisitionRequest> decoded =
      opened.ok() ? DecodeSpooled(options_.decoders, **opened) : opened.status();
  if (stored.ok()) {
    if (decoded.ok()) FollowUp(job.id, *stored, *decoded, *opened);
    return CompleteStored(job, *stored);
  }
  ISO_ASSIGN_OR_RETURN(AcquisitionRequest request, std::move(decoded));
  const std::shared_ptr<jobs::JobSpool>& spool = *opened;
  if (job.state != JobState::kReceiving) {
    ISO_RETURN_IF_ERROR(environment_.table.Transition(job.id, JobState::kReceiving));
  }
  auto recovered = std::make_shared<ReconstructionJob>(job.id, std::move(request), job.grid, spool,
                                                       EnvironmentOf(job.job_class));
  const ReconstructionJob::Input input = recovered->input();
  environment_.table.Update(job.id, [&](jobs::Job& changed) {
    changed.progress.frames_received = input.present;
    changed.progress.frames_lost = input.lost;
    changed.progress.frames_backprojected = 0;
    changed.progress.slices_exported = 0;
  });
  spdlog::info("event=job_recovered job={} frames={} of={}", job.id, input.present,
               job.progress.frames_total);
  environment_.observer.OnJobResumed("restart");
  // What was warned of since the job was last saved is not known any more.
  if (input.lost > 0 && std::ranges::none_of(job.warnings, [](const jobs::JobWarning& warning) {
        return warning.kind == jobs::WarningKind::kFrameGap;
      })) {
    recovered->Warn({jobs::WarningKind::kFrameGap, std::nullopt,
                     absl::StrCat(input.lost, " of ", job.progress.frames_total,
                                  " frames were given up before the service was started again")});
  }
  orders_.Begin(recovered);
  AddActive(recovered);
  if (input.present > 0) OnFirstFrame(*recovered);
  return absl::OkStatus();
}

absl::Status Engine::CompleteStored(const jobs::Job& job, const jobs::StoredSeries& stored) {
  for (const JobState state : {JobState::kReconstructing, JobState::kExporting}) {
    if (job.state < state) ISO_RETURN_IF_ERROR(environment_.table.Transition(job.id, state));
  }
  ISO_RETURN_IF_ERROR(
      environment_.table.Transition(job.id, JobState::kCompleted, [&](jobs::Job& changed) {
        changed.end_time = absl::Now();
        jobs::RecordStored(stored, changed);
        changed.progress.frames_received = changed.progress.frames_backprojected =
            changed.progress.frames_total;
      }));
  refinements_.ReleaseFrames(job.id);
  return absl::OkStatus();
}

void Engine::SeekPlaces() {
  if (seeking_places_.exchange(true)) return;  // the one that is under way will find them
  admission_lane_->Submit([this] { StartWaiting(); });
}

void Engine::StartWaiting() {
  seeking_places_ = false;
  std::vector<std::shared_ptr<ReconstructionJob>> waiting = ActiveJobs();
  std::erase_if(waiting, [](const auto& job) { return job->run() != nullptr; });
  std::ranges::sort(waiting, [](const auto& a, const auto& b) {
    return std::pair(a->urgency().job_class, a->urgency().deadline) <
           std::pair(b->urgency().job_class, b->urgency().deadline);
  });
  for (const auto& job : waiting) {
    auto run = runs_.Make(job->request(), job->grid(), job->urgency());
    if (run.ok()) {
      const std::string backend((*run)->devices()[0]->backend());
      environment_.table.Update(job->id(),
                                [&](jobs::Job& changed) { changed.result.backend = backend; });
      job->StartRun(*std::move(run));
    } else if (!absl::IsResourceExhausted(run.status()) && !absl::IsUnavailable(run.status())) {
      job->Fail(run.status());
    }
  }
  refinements_.StartWaiting();
}

}  // namespace isocenter::pipeline
