// How refinements come to be: on request, after an acquisition, after a restart.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/pipeline/refinement_record.h"
#include "server/pipeline/refinements.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {

using jobs::Job;
using jobs::JobState;

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
  ISO_ASSIGN_OR_RETURN(AcquisitionRequest request, DecodeSpooled(decoders_, *spool));
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
  const std::vector<jobs::FrameState> frames = input.spool->states();
  job.progress.frames_received =
      static_cast<int>(std::ranges::count(frames, jobs::FrameState::kPresent));
  job.progress.frames_lost = static_cast<int>(std::ranges::count(frames, jobs::FrameState::kGap));
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
  // The job may end before its input is open, and its use of the frames with it: opening them
  // retains them, so it is a use of its own.
  Use(source_id);
  opening_->Submit([this, recovered] {
    absl::StatusOr<RefinementInput> input = OpenInput(recovered->source_id());
    const absl::Status status =
        input.ok() ? recovered->SetInput(*std::move(input)) : input.status();
    EndUse(recovered->source_id());
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

}  // namespace isocenter::pipeline
