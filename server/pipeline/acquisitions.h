// What acquisitions need beyond other jobs: their orders, and what follows their volumes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/pipeline/engine_environment.h"
#include "server/pipeline/orders/order_lookup.h"
#include "server/pipeline/reconstruction_job.h"
#include "server/pipeline/refinements.h"

namespace isocenter::pipeline {

/// Thread-safe.
class Acquisitions : public AcquisitionKeeper {
 public:
  /// An export takes seconds, and cannot be interrupted by a more urgent one: live acquisitions
  /// have an exporter of their own.
  Acquisitions(const EngineParts& parts, scheduler::LaneExecutor& exporter,
               scheduler::LaneExecutor& live_exporter, OrderLookup& orders,
               Refinements& refinements)
      : parts_(parts),
        exporter_(exporter),
        live_exporter_(live_exporter),
        orders_(orders),
        refinements_(refinements) {}

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
  void OnFrames(ReconstructionJob& job, int present) override;
  void OnVolumeComplete(ReconstructionJob& job) override;
  void WhenIdentified(ReconstructionJob& job, std::function<void()> then) override;
  void OnStored(ReconstructionJob& job, const jobs::StoredSeries& stored) override;
  void OnEnded(ReconstructionJob& job) override;

 private:
  /// Errors: the table's.
  absl::Status SubtractIfComplete(const std::string& pair_id);

  const EngineParts& parts_;
  scheduler::LaneExecutor& exporter_;
  scheduler::LaneExecutor& live_exporter_;
  OrderLookup& orders_;
  Refinements& refinements_;
};

}  // namespace isocenter::pipeline
