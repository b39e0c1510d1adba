#include "server/pipeline/refinements.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/pipeline/calibration_choice.h"
#include "server/pipeline/early/early_refinements.h"
#include "server/pipeline/job_record.h"
#include "server/pipeline/reference_job.h"
#include "server/pipeline/refinement_record.h"

namespace isocenter::pipeline {

using jobs::Job;

void Refinements::Refine(const std::string& source_id, RefinementRequest request, Done done) {
  opening_->Submit(
      [this, source_id, request = std::move(request), done = std::move(done)]() mutable {
        done(RefineNow(source_id, std::move(request)));
      });
}

absl::StatusOr<jobs::JobSnapshot> Refinements::RefineNow(const std::string& source_id,
                                                         RefinementRequest request) {
  if (parts_.active.draining()) {
    return absl::UnavailableError("the service is shutting down; use another one");
  }
  if (!request.request_id.empty()) {
    const jobs::JobSnapshot known = parts_.table.FindByRequestId(request.request_id);
    if (known != nullptr) return ExistingRefinement(known, source_id, request);
  }
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot source, parts_.table.Get(source_id));
  ISO_RETURN_IF_ERROR(CheckRefinable(*source));
  ISO_RETURN_IF_ERROR(ChooseReference(*source, request));
  Use(source_id);
  absl::StatusOr<RefinementInput> input = OpenInput(source_id);
  absl::Status usable =
      input.ok() ? CheckCalibration(source_id, request, input->calibration) : input.status();
  if (usable.ok()) {
    usable = CheckFrameCount(source_id, request, input->acquisition.trajectory.size());
  }
  if (!usable.ok()) {
    EndUse(source_id);
    return usable;
  }
  const jobs::StoredSeries stored{.study_instance_uid = source->result.study_instance_uid,
                                  .series_instance_uid = source->result.series_instance_uid,
                                  .frame_of_reference_uid = source->result.frame_of_reference_uid};
  const absl::Time now = parts_.Now();
  Job job = RefinementRecord(jobs::NewJobId(now), *source, stored, request, now);
  const absl::Status gated = CheckGates(input->acquisition, request, job);
  absl::StatusOr<scheduler::DiskPromise> room =
      gated.ok() ? RoomFor(job) : absl::StatusOr<scheduler::DiskPromise>(gated);
  if (!room.ok()) {
    EndUse(source_id);
    return room.status();
  }
  const std::optional<jobs::JobWarning> stale = WarnOfTable(request, input->calibration, job);
  auto added = Add(std::move(job), std::move(request), *std::move(input), *std::move(room));
  if (added.ok() && stale) ReportWarning((*added)->id, *stale, parts_.observer);
  return added;
}

std::optional<jobs::JobWarning> Refinements::WarnOfTable(
    const RefinementRequest& request, const std::optional<jobs::UsedCalibration>& used,
    Job& job) const {
  if (!used || parts_.calibrations == nullptr || !ComputesScatter(request)) return std::nullopt;
  const auto set = parts_.calibrations->Load(*used);
  if (!set.ok()) return std::nullopt;  // is missed when it is loaded to be used
  std::optional<jobs::JobWarning> stale = CheckTable(request, **set);
  const auto said = [&](const jobs::JobWarning& other) { return other.text == stale->text; };
  if (!stale || std::ranges::any_of(job.warnings, said)) return std::nullopt;
  job.warnings.push_back(*stale);
  job.result.warnings.push_back(stale->text);
  return stale;
}

absl::Status Refinements::ChooseReference(const Job& source, RefinementRequest& request) const {
  if (request.reference_job_id.empty()) return absl::OkStatus();
  const absl::StatusOr<jobs::JobSnapshot> reference = parts_.table.Get(request.reference_job_id);
  const auto explained = [](const absl::Status& why) {
    return absl::Status(
        why.code(), absl::StrCat("reference_job_id: ", why.message(),
                                 "; legal is a job whose volume is stored where the frames are"));
  };
  if (!reference.ok()) return explained(reference.status());
  ISO_RETURN_IF_ERROR(CheckReferenceJob(source, **reference));
  const absl::Status stored = parts_.results.RawFile((*reference)->id).status();
  if (!stored.ok()) return explained(stored);
  return ResolveReference(parts_.table, source, request);
}

absl::Status Refinements::CheckCalibration(const std::string& source_id,
                                           const RefinementRequest& request,
                                           const std::optional<jobs::UsedCalibration>& used) const {
  const auto legal = [](absl::string_view part) {
    return absl::StrCat("; legal for this second pass is one whose calibration has a ", part);
  };
  if (const std::string part = MissingPart(request, false, false); !used && !part.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job '", source_id, "' was acquired without a calibration", legal(part)));
  }
  if (!used) return absl::OkStatus();
  if (parts_.calibrations == nullptr) return absl::OkStatus();
  for (const jobs::CalibrationLabel& label : parts_.calibrations->Labels()) {
    if (label.name != used->name || label.crc32c != used->crc32c) continue;
    const std::string part = MissingPart(request, label.has_bone, label.has_scatter_model);
    if (part.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("job '", source_id, "' was acquired with the calibration '", label.name,
                     "', which has no ", part, legal(part)));
  }
  return absl::OkStatus();  // one that is gone is missed when it is loaded
}

absl::StatusOr<scheduler::DiskPromise> Refinements::RoomFor(const Job& job) {
  ISO_ASSIGN_OR_RETURN(scheduler::DiskPromise room,
                       parts_.disk.Reserve(parts_.results.StoredBytes(job.grid, job.dicom_forms)));
  parts_.disk.FreeFromSpool(parts_.disk.promised());
  return room;
}

absl::Status Refinements::Follow(const Job& source, const jobs::StoredSeries& stored,
                                 const AcquisitionRequest& request,
                                 std::shared_ptr<jobs::JobSpool> spool) {
  if (!request.refinement) return absl::OkStatus();
  RefinementRequest refinement = *request.refinement;
  ISO_RETURN_IF_ERROR(CheckCalibration(source.id, refinement, request.calibration));
  ISO_RETURN_IF_ERROR(
      CheckFrameCount(source.id, refinement, request.acquisition.trajectory.size()));
  refinement.job_class = request.job_class == jobs::JobClass::kLive ? jobs::JobClass::kInteractive
                                                                    : jobs::JobClass::kBatch;
  Use(source.id);
  Job job =
      RefinementRecord(absl::StrCat(source.id, "-ref"), source, stored, refinement, parts_.Now());
  absl::StatusOr<scheduler::DiskPromise> room = RoomFor(job);
  const absl::Status added =
      Add(std::move(job), std::move(refinement),
          {std::move(spool), request.acquisition, request.calibration, request.missing_frames,
           [this, id = source.id] { return parts_.early.Take(id); }},
          room.ok() ? *std::move(room) : scheduler::DiskPromise())
          .status();
  return absl::IsAlreadyExists(added) ? absl::OkStatus() : added;
}

absl::StatusOr<RefinementInput> Refinements::OpenInput(const std::string& source_id) {
  absl::Status kept = parts_.spool.Retain(source_id);
  if (absl::IsNotFound(kept)) kept = absl::FailedPreconditionError(kept.message());
  ISO_RETURN_IF_ERROR(kept);
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<jobs::JobSpool> spool, parts_.spool.Open(source_id));
  ISO_ASSIGN_OR_RETURN(AcquisitionRequest request, DecodeSpooled(parts_.options.decoders, *spool));
  request.acquisition.phases = spool->phases();
  return RefinementInput{std::move(spool), std::move(request.acquisition),
                         std::move(request.calibration), request.missing_frames};
}

std::shared_ptr<RefinementJob> Refinements::MakeJob(const Job& job, RefinementRequest request) {
  return std::make_shared<RefinementJob>(job, std::move(request), parts_.ForJobs(exporter_),
                                         [this](const std::string& source_id) {
                                           parts_.early.GiveUp(source_id);
                                           EndUse(source_id);
                                         });
}

absl::StatusOr<jobs::JobSnapshot> Refinements::Add(Job job, RefinementRequest request,
                                                   RefinementInput input,
                                                   scheduler::DiskPromise room) {
  const std::vector<jobs::FrameState> frames = input.spool->states();
  job.progress.frames_received =
      static_cast<int>(std::ranges::count(frames, jobs::FrameState::kPresent));
  job.progress.frames_lost = static_cast<int>(std::ranges::count(frames, jobs::FrameState::kGap));
  const std::shared_ptr<RefinementJob> added = MakeJob(job, std::move(request));
  absl::Status status = added->SetInput(std::move(input));
  if (status.ok()) status = parts_.table.Insert(job);
  if (!status.ok()) {
    EndUse(added->source_id());
    return status;
  }
  spdlog::info(
      "event=refinement_accepted job={} refines={} protocol={} algorithm={} class={} "
      "iterations={}",
      job.id, added->source_id(), job.protocol, job.refinement.algorithm,
      std::string(jobs::Name(job.job_class)), job.progress.iterations_total);
  for (const jobs::JobWarning& warning : job.warnings) {
    // Those of the frames have been reported with their own job.
    if (!IsOfTheFrames(warning.kind)) ReportWarning(job.id, warning, parts_.observer);
  }
  added->TakeRoom(std::move(room));
  parts_.active.Add(added);
  parts_.seek_places();
  return std::make_shared<const Job>(std::move(job));
}

// ---- After a restart ---------------------------------------------------------------------------

absl::Status Refinements::Recover(const Job& job) {
  ISO_ASSIGN_OR_RETURN(RefinementRequest request,
                       parts_.options.decoders.refinement(job.refinement.recipe));
  ISO_RETURN_IF_ERROR(AddPhase(job, request));
  ISO_RETURN_IF_ERROR(ResolveReference(parts_.table, job, request));
  const std::string source_id = job.source_job_ids.front();
  Use(source_id);
  const std::shared_ptr<RefinementJob> recovered = MakeJob(job, std::move(request));
  recovered->TakeRoom(parts_.disk.Renew(parts_.results.StoredBytes(job.grid, job.dicom_forms)));
  parts_.active.Add(recovered);
  parts_.table.Update(job.id, [](Job& changed) { changed.progress.slices_exported = 0; });
  parts_.observer.OnJobResumed("restart");
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
    parts_.seek_places();
  });
  return absl::OkStatus();
}

// ---- The frames --------------------------------------------------------------------------------

void Refinements::Use(const std::string& source_id) {
  absl::MutexLock lock(&mutex_);
  ++uses_[source_id];
}

void Refinements::EndUse(const std::string& source_id) {
  {
    absl::MutexLock lock(&mutex_);
    const auto uses = uses_.find(source_id);
    if (uses == uses_.end() || --uses->second > 0) return;
    uses_.erase(uses);
  }
  const absl::StatusOr<jobs::JobSnapshot> source = parts_.table.Get(source_id);
  if (!source.ok() || jobs::HasEnded((*source)->state)) ReleaseFrames(source_id);
}

void Refinements::ReleaseFrames(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  if (!uses_.contains(job_id)) parts_.spool.Release(job_id);
}

void Refinements::AwaitMade() {
  absl::Notification made;
  opening_->Submit([&made] { made.Notify(); });
  made.WaitForNotification();
}

}  // namespace isocenter::pipeline
