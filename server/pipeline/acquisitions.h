// What acquisitions need beyond other jobs: their orders, and what follows their volumes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/jobs/frame_spool.h"
#include "server/pipeline/active_jobs.h"
#include "server/pipeline/order_lookup.h"
#include "server/pipeline/reconstruction_job.h"
#include "server/pipeline/refinements.h"
#include "server/scheduler/memory_budget.h"

namespace isocenter::pipeline {

/// All of it outlives the acquisitions.
struct AcquisitionsEnvironment {
  JobEnvironment live;  // an export takes seconds, and cannot be interrupted by a more urgent one:
  JobEnvironment others;  // each has an exporter of its own
  scheduler::MemoryBudget& host_memory;
  ActiveJobs& active;
  OrderLookup& orders;
  Refinements& refinements;
  /// Jobs wait for a place, or there may be one. From any thread.
  std::function<void()> seek_places;
  absl::Duration reconnect_limit;  // how long a job waits for its console
};

/// Thread-safe.
class Acquisitions : public AcquisitionKeeper {
 public:
  explicit Acquisitions(AcquisitionsEnvironment environment)
      : environment_(std::move(environment)) {}

  std::shared_ptr<ReconstructionJob> NewJob(const std::string& id, AcquisitionRequest request,
                                            const VolumeGrid& grid,
                                            std::shared_ptr<jobs::JobSpool> spool);
  /// The job, which the table knows, is active from now on.
  void Begin(const std::shared_ptr<ReconstructionJob>& job);
  /// What the protocol asks for beyond the volume, when that is stored.
  void FollowUp(const std::string& id, const jobs::StoredSeries& stored,
                const AcquisitionRequest& request, std::shared_ptr<jobs::JobSpool> spool);
  /// The exporter subtracts, where both halves of a pair are there by then.
  void SubmitSubtraction(const std::string& pair_id);

  void OnFirstFrame(ReconstructionJob& job) override;
  void WhenIdentified(ReconstructionJob& job, std::function<void()> then) override;
  void OnStored(ReconstructionJob& job, const jobs::StoredSeries& stored) override;
  void OnEnded(ReconstructionJob& job) override;

 private:
  /// Errors: the table's.
  absl::Status SubtractIfComplete(const std::string& pair_id);

  const AcquisitionsEnvironment environment_;
};

}  // namespace isocenter::pipeline
