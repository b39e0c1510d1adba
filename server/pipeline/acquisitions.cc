#include "server/pipeline/acquisitions.h"

#include <optional>
#include <utility>

#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/pipeline/early/early_refinements.h"
#include "server/pipeline/pair.h"
#include "server/pipeline/subtraction_job.h"

namespace isocenter::pipeline {

using jobs::JobState;

std::shared_ptr<ReconstructionJob> Acquisitions::NewJob(const std::string& id,
                                                        AcquisitionRequest request,
                                                        const VolumeGrid& grid,
                                                        std::shared_ptr<jobs::JobSpool> spool) {
  // What the frames show is judged as they will be corrected.
  if (request.calibration) {
    auto loaded = parts_.calibrations_in_memory.Get(*request.calibration);
    // Where it cannot be had, the run says so.
    if (loaded.ok()) request.acquisition.calibration = *std::move(loaded);
  }
  const JobEnvironment environment =
      parts_.ForJobs(request.job_class == jobs::JobClass::kLive ? live_exporter_ : exporter_);
  return std::make_shared<ReconstructionJob>(
      id, std::move(request), grid, std::move(spool), parts_.Now(), environment, *this,
      AbsentConsole{.limit = parts_.options.reconnect_limit,
                    .may_be_elsewhere = parts_.options.has_other_nodes,
                    .handed_back_to = [find = parts_.options.handed_back_to, id]()
                        -> std::optional<std::string> { return find ? find(id) : std::nullopt; }});
}

void Acquisitions::Begin(const std::shared_ptr<ReconstructionJob>& job) {
  orders_.Begin(job);
  parts_.active.Add(job);
}

void Acquisitions::OnFirstFrame(ReconstructionJob& job) {
  orders_.WhenSettled(job.id(), [this, id = job.id()](bool settled) {
    // Else it is told when the service has started again.
    if (!settled) return;
    const absl::StatusOr<jobs::JobSnapshot> snapshot = parts_.table.Get(id);
    if (snapshot.ok()) parts_.observer.OnAcquisitionBegan(**snapshot);
  });
}

void Acquisitions::OnFrames(ReconstructionJob& job, int present) {
  parts_.early.OnFrames(job.id(), present);
}

void Acquisitions::OnVolumeComplete(ReconstructionJob& job) { parts_.early.OnScanComplete(job); }

void Acquisitions::WhenIdentified(ReconstructionJob& job, std::function<void()> then) {
  orders_.WhenSettled(job.id(), [then = std::move(then)](bool) { then(); });
}

void Acquisitions::OnStored(ReconstructionJob& job, const jobs::StoredSeries& stored) {
  FollowUp(job.id(), stored, job.request(), job.spool());
}

void Acquisitions::FollowUp(const std::string& id, const jobs::StoredSeries& stored,
                            const AcquisitionRequest& request,
                            std::shared_ptr<jobs::JobSpool> spool) {
  const absl::StatusOr<jobs::JobSnapshot> job = parts_.table.Get(id);
  const absl::Status followed =
      job.ok() ? refinements_.Follow(**job, stored, request, std::move(spool)) : job.status();
  // The volume is there; its refinement can still be asked for.
  if (!followed.ok()) {
    parts_.early.GiveUp(id);
    spdlog::error("event=refinement_refused refines={} error=\"{}\"", id, followed.ToString());
  }
}

void Acquisitions::OnEnded(ReconstructionJob& job) {
  const absl::StatusOr<jobs::JobSnapshot> ended = parts_.table.Get(job.id());
  if (!ended.ok() || (*ended)->state != JobState::kCompleted) parts_.early.GiveUp(job.id());
  refinements_.ReleaseFrames(job.id());
  if (!job.request().pair_id.empty()) SubmitSubtraction(job.request().pair_id);
  parts_.seek_places();  // for the refinements of this job
}

void Acquisitions::SubmitSubtraction(const std::string& pair_id) {
  exporter_.NewLane({jobs::JobClass::kInteractive})
      ->Submit([this, pair_id, errand = parts_.active.BeginErrand()] {
        const absl::Status begun = SubtractIfComplete(pair_id);
        if (begun.ok()) return;
        spdlog::error("event=subtraction_failed pair={} error=\"{}\"", pair_id, begun.ToString());
      });
}

absl::Status Acquisitions::SubtractIfComplete(const std::string& pair_id) {
  const Pair pair = FindPair(parts_.table, pair_id);
  const auto completed = [](const jobs::JobSnapshot& job) {
    return job != nullptr && job->state == JobState::kCompleted;
  };
  if (!completed(pair.mask) || !completed(pair.fill) || pair.subtraction != nullptr) {
    return absl::OkStatus();
  }
  const jobs::Job record = SubtractionRecord(*pair.mask, *pair.fill, parts_.Now());
  const absl::Status inserted = parts_.table.Insert(record);
  if (absl::IsAlreadyExists(inserted)) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(inserted);
  const auto job = std::make_shared<SubtractionJob>(
      record, pair, parts_.scheduler.slots()[0]->host_memory, parts_.ForJobs(exporter_));
  parts_.active.Add(job);
  return job->Begin();
}

}  // namespace isocenter::pipeline
