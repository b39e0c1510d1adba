// One attempt to reconstruct a job, on one slot.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/job.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/frames/frame_ledger.h"
#include "server/pipeline/runs/chunk_loader.h"
#include "server/pipeline/runs/run.h"
#include "server/pipeline/runs/slice_gate.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

/// The plan and all memory of one attempt. The slot's thread calls Push and FinishStep, then the
/// completer's thread Complete; whoever drops the last reference has no work of it under way.
class ReconstructionRun : public Run {
 public:
  /// Takes the memory. Errors: those of Reconstructor::Create and Device::NewHostMemory.
  static absl::StatusOr<std::shared_ptr<ReconstructionRun>> Create(
      std::unique_ptr<const recon::ReconstructionPlan> plan, const RunPlace& place,
      scheduler::Admission admission, const ops::Registry& registry,
      const scheduler::Urgency& urgency, absl::Time predicted_finish);

  const recon::ReconstructionPlan& plan() const { return *plan_; }
  std::string PlanText() const override { return recon::PlanText(*plan_); }
  scheduler::LaneExecutor::Lane& completion() { return *completion_; }
  scheduler::Admission& admission() { return admission_; }
  double predicted_seconds() const { return predicted_seconds_; }
  absl::Time predicted_finish() const { return predicted_finish_; }
  /// What was admitted: of the devices' memory, as much of each, and of the host's.
  int64_t peak_bytes() const { return plan_->peak_bytes + plan_->host_bytes; }

  /// Loads the next chunk from the spool and starts its computation.
  absl::Status Push(jobs::JobSpool& spool, std::span<const ViewSource> sources);
  /// After each Push, at intervals: what the volume looks like so far. Null: not due.
  absl::StatusOr<std::shared_ptr<const jobs::Preview>> PreviewIfDue();
  /// Waits for what the devices do and adds it to the trace.
  absl::Status TakeTrace();
  recon::StageSeconds seconds() const { return recon::SecondsOf(trace_); }

  /// After the last chunk: a part of what is left, as much as a chunk. True when all is started.
  absl::StatusOr<bool> FinishStep();
  /// Waits for the volume and frees all memory but the volume's. The time at which it was complete.
  absl::StatusOr<absl::Time> Complete();

  SliceGate& slices() { return *slices_; }
  HostView3<float> volume() const {
    return {reinterpret_cast<float*>(volume_->data()), plan_->grid.shape()};
  }

 private:
  ReconstructionRun(std::unique_ptr<const recon::ReconstructionPlan> plan, const RunPlace& place,
                    scheduler::Admission admission, const scheduler::Urgency& urgency,
                    absl::Time predicted_finish);

  const std::unique_ptr<const recon::ReconstructionPlan> plan_;
  const std::shared_ptr<scheduler::LaneExecutor::Lane> completion_;
  const bool somebody_waits_;  // not a batch job
  const double predicted_seconds_;
  const absl::Time predicted_finish_;
  scheduler::Admission admission_;  // before the memory that it counts
  scheduler::Workload workload_;
  const std::shared_ptr<SliceGate> slices_;  // the devices' callbacks may come late
  std::unique_ptr<ops::HostMemory> chunk_;
  std::unique_ptr<ops::HostMemory> volume_;
  std::unique_ptr<recon::Reconstructor> reconstructor_;  // first to go
  Measured measured_;
  int frames_pushed_ = 0;
  absl::Time last_preview_ = absl::InfinitePast();
};

}  // namespace isocenter::pipeline
