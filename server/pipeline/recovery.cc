#include "server/pipeline/recovery.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"

namespace isocenter::pipeline {

using jobs::JobState;

void Recovery::Recover() {
  const std::vector<jobs::JobSnapshot> all =
      parts_.table.List({}, std::nullopt, std::numeric_limits<int>::max());
  for (const jobs::JobSnapshot& job : all) {  // before the frames that they use could be released
    if (!jobs::IsRefinement(*job) || jobs::HasEnded(job->state)) continue;
    if (const absl::Status status = GoOnWithRefinement(*job); !status.ok()) Fail(*job, status);
  }
  for (const std::string& id : parts_.spool.Jobs()) {
    const absl::StatusOr<jobs::JobSnapshot> job = parts_.table.Get(id);
    if (parts_.table.IsDamaged(id)) continue;  // its frames may be all that is left of it
    if (!job.ok()) {
      (void)parts_.spool.Remove(id);  // nobody was told that it was accepted
    } else if (jobs::HasEnded((*job)->state)) {
      refinements_.ReleaseFrames(id);
    } else if (const absl::Status status = GoOnWithAcquisition(**job); !status.ok()) {
      Fail(**job, status);
      parts_.spool.Release(id);
    }
  }
  for (const jobs::JobSnapshot& job : all) {
    if (job->pair_role == jobs::PairRole::kSubtraction && !jobs::HasEnded(job->state)) {
      // Begun anew below.
      (void)parts_.table.Transition(job->id, JobState::kFailed);
      (void)parts_.table.Delete(job->id);
    }
  }
  for (const jobs::JobSnapshot& job : all) {
    if (job->pair_role == jobs::PairRole::kFill) {
      acquisitions_.SubmitSubtraction(job->pair_id);
    }
  }
}

absl::Status Recovery::GoOnWithRefinement(const jobs::Job& job) {
  const absl::StatusOr<jobs::StoredSeries> stored = parts_.results.Find(job);
  return stored.ok() ? CompleteStored(job, *stored) : refinements_.Recover(job);
}

absl::Status Recovery::GoOnWithAcquisition(const jobs::Job& job) {
  const absl::StatusOr<jobs::StoredSeries> stored = parts_.results.Find(job);
  const absl::StatusOr<std::shared_ptr<jobs::JobSpool>> opened = parts_.spool.Open(job.id);
  absl::StatusOr<AcquisitionRequest> decoded =
      opened.ok() ? DecodeSpooled(parts_.options.decoders, **opened) : opened.status();
  if (stored.ok()) {
    if (decoded.ok()) acquisitions_.FollowUp(job.id, *stored, *decoded, *opened);
    ISO_RETURN_IF_ERROR(CompleteStored(job, *stored));
    refinements_.ReleaseFrames(job.id);
    return absl::OkStatus();
  }
  ISO_ASSIGN_OR_RETURN(AcquisitionRequest request, std::move(decoded));
  const std::shared_ptr<jobs::JobSpool>& spool = *opened;
  if (job.state != JobState::kReceiving) {
    ISO_RETURN_IF_ERROR(parts_.table.Transition(job.id, JobState::kReceiving));
  }
  const auto recovered = acquisitions_.NewJob(job.id, std::move(request), job.grid, spool);
  recovered->TakeRoom(parts_.disk.Renew(parts_.results.StoredBytes(job.grid, job.dicom_forms)));
  const ReconstructionJob::Input input = recovered->input();
  parts_.table.Update(job.id, [&](jobs::Job& changed) {
    changed.progress.frames_received = input.present;
    changed.progress.frames_lost = input.lost;
    changed.progress.frames_backprojected = 0;
    changed.progress.slices_exported = 0;
  });
  spdlog::info("event=job_recovered job={} frames={} of={}", job.id, input.present,
               job.progress.frames_total);
  parts_.observer.OnJobResumed("restart");
  // What was warned of since the job was last saved is not known any more.
  if (input.lost > 0 && std::ranges::none_of(job.warnings, [](const jobs::JobWarning& warning) {
        return warning.kind == jobs::WarningKind::kFrameGap;
      })) {
    recovered->Warn({jobs::WarningKind::kFrameGap, std::nullopt,
                     absl::StrCat(input.lost, " of ", job.progress.frames_total,
                                  " frames were given up before the service was started again")});
  }
  acquisitions_.Begin(recovered);
  recovered->TellConsoleDeadline();
  if (input.present > 0) acquisitions_.OnFirstFrame(*recovered);
  return absl::OkStatus();
}

absl::Status Recovery::CompleteStored(const jobs::Job& job, const jobs::StoredSeries& stored) {
  for (const JobState state : {JobState::kReconstructing, JobState::kExporting}) {
    if (job.state < state) ISO_RETURN_IF_ERROR(parts_.table.Transition(job.id, state));
  }
  const absl::Time now = parts_.Now();
  return parts_.table.Transition(job.id, JobState::kCompleted, [&](jobs::Job& changed) {
    changed.end_time = now;
    jobs::RecordStored(stored, changed);
    if (jobs::IsRefinement(changed)) return;
    changed.progress.frames_received = changed.progress.frames_backprojected =
        changed.progress.frames_total;
  });
}

void Recovery::Fail(const jobs::Job& job, const absl::Status& why) {
  spdlog::error("event=recovery_failed job={} error=\"{}\"", job.id, why.ToString());
  const absl::Time now = parts_.Now();
  (void)parts_.table.Transition(job.id, JobState::kFailed, [&](jobs::Job& changed) {
    changed.error = why;
    changed.end_time = now;
  });
}

}  // namespace isocenter::pipeline
