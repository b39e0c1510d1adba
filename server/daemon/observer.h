// What happens to jobs, for operators.
#pragma once

#include <string>

#include "server/base/log.h"
#include "server/dicom/worklist/procedure_steps.h"
#include "server/jobs/ports.h"
#include "server/metrics/metrics.h"
#include "server/node/activity.h"
#include "server/node/job_feed.h"
#include "server/traces/exporter.h"

namespace isocenter::daemon {

/// Metrics, the activity of the day and a line in the log for whatever happens to jobs; performed
/// procedure steps and traces, where they are configured.
class Observer : public jobs::JobObserver {
 public:
  Observer(metrics::Metrics& metrics, node::Activity& activity)
      : metrics_(metrics), activity_(activity) {}
  /// Before anything happens to jobs; must outlive what tells this observer.
  void SetProcedureSteps(dicom::ProcedureSteps* steps) { procedure_steps_ = steps; }
  /// As SetProcedureSteps.
  void SetTraces(traces::Exporter* traces) { traces_ = traces; }
  /// Who follows the node is told that an acquisition was refused. Before acquisitions come; must
  /// outlive them.
  void SetFeed(node::JobFeed* feed) { feed_ = feed; }
  void OnJobAccepted(const jobs::Job& job) override {
    metrics_.OnJobAccepted(job);
    if (traces_ != nullptr) traces_->OnJobAccepted(job, absl::Now());
  }
  void OnFrame(int64_t bytes) override {
    metrics_.OnFrame(bytes);
    activity_.OnFrame(bytes);
  }
  void OnFrameRefused(const absl::Status& reason) override { metrics_.OnFrameRefused(reason); }
  void OnFrameSpooled(double seconds) override { metrics_.OnFrameSpooled(seconds); }
  void OnWarning(jobs::WarningKind kind) override { metrics_.OnWarning(kind); }
  void OnPrediction(const std::string& device, double predicted_seconds,
                    double actual_seconds) override {
    metrics_.OnPrediction(device, predicted_seconds, actual_seconds);
  }
  void OnComputed(const std::string& device, double voxel_updates, double busy_seconds) override {
    metrics_.OnComputed(device, voxel_updates, busy_seconds);
  }
  void OnJobResumed(absl::string_view reason) override { metrics_.OnJobResumed(reason); }
  void OnDeviceLost(const std::string& device) override { metrics_.OnDeviceLost(device); }
  void OnRefused(const absl::Status& reason, const std::string& station_name) override {
    metrics_.OnRefused(reason, station_name);
    activity_.OnRefused(reason, station_name, absl::Now());
    if (feed_ != nullptr) feed_->OnNodeChanged();
  }
  void OnAcquisitionBegan(const jobs::Job& job) override {
    if (procedure_steps_ != nullptr) procedure_steps_->OnBegan(job);
  }
  void OnStateChanged(const jobs::Job& job, jobs::JobState from) override {
    spdlog::info("event=job_state job={} from={} to={}", job.id, std::string(Name(from)),
                 std::string(Name(job.state)));
    metrics_.OnStateChanged(job, from);
    if (traces_ != nullptr) traces_->OnStateChanged(job, absl::Now());
  }
  void OnJobEnded(const jobs::Job& job) override {
    metrics_.OnJobEnded(job);
    if (procedure_steps_ != nullptr) procedure_steps_->OnEnded(job);
    activity_.OnJobEnded(job);
    if (traces_ != nullptr) traces_->OnJobEnded(job);
    if (job.state != jobs::JobState::kCompleted) {
      spdlog::warn("event=job_ended job={} outcome={} error=\"{}\"", job.id,
                   std::string(Name(job.state)), job.error.ToString());
      return;
    }
    const jobs::JobResult& result = job.result;
    if (jobs::IsSecondPass(job)) {
      spdlog::info(
          "event=job_ended job={} outcome=completed refines={} algorithm={} refine_seconds={:.3f}",
          job.id, job.source_job_ids.front(), job.refinement.algorithm, result.timings.refine);
      return;
    }
    if (jobs::IsRefinement(job)) {
      const auto& iterations = job.refinement.iterations;
      spdlog::info(
          "event=job_ended job={} outcome=completed refines={} algorithm={} iterations={} of={} "
          "relative_residual={:.6g} refine_seconds={:.3f}",
          job.id, job.source_job_ids.front(), job.refinement.algorithm,
          job.progress.iterations_done, job.progress.iterations_total,
          iterations.empty() ? 0 : iterations.back().relative_residual, result.timings.refine);
      return;
    }
    if (!jobs::IsAcquisition(job)) {
      spdlog::info(
          "event=job_ended job={} outcome=completed subtracts={} instances={} total_seconds={:.3f}",
          job.id, job.pair_id, result.instance_count, result.timings.total);
      return;
    }
    spdlog::info(
        "event=job_ended job={} outcome=completed frames={} instances={} "
        "seconds_after_last_frame={:.3f} seconds_to_stored={:.3f} kernel_gups={:.3f} "
        "whole_gups={:.3f}",
        job.id, job.progress.frames_total, result.instance_count, result.seconds_after_last_frame,
        result.seconds_to_stored, result.kernel_gups, result.whole_gups);
  }

 private:
  metrics::Metrics& metrics_;
  node::Activity& activity_;
  dicom::ProcedureSteps* procedure_steps_ = nullptr;
  traces::Exporter* traces_ = nullptr;
  node::JobFeed* feed_ = nullptr;
};

}  // namespace isocenter::daemon
