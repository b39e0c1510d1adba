// What operators see: Prometheus metrics over HTTP. docs/metrics.md lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/jobs/job.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"

namespace isocenter::metrics {

/// The file system that a directory of the service is on.
struct DiskSpace {
  std::string directory;       // "archive", "spool"
  int64_t size_bytes = 0;      // of the whole file system
  int64_t free_bytes = 0;      // that the service may still write
  int64_t promised_bytes = 0;  // of these, to results that are not stored yet
};

/// Memory of one device, in bytes.
struct DeviceMemory {
  std::string device;
  int64_t limit = 0;
  int64_t used = 0;
};

struct DeviceHealth {
  std::string device;
  bool healthy = true;
  int gpus = 0;  // that it consists of
};

/// Whether acquisitions are taken.
struct Readiness {
  std::vector<std::string> not_ready;  // components that are why they are not; empty: they are
  bool is_drained = false;             // an operator has said so
};

/// The disk space of the frame spool, and how long its last sync took.
struct SpoolState {
  int64_t capacity_bytes = 0;
  int64_t used_bytes = 0;         // by all jobs
  int64_t reclaimable_bytes = 0;  // of these, by jobs that have ended
  double last_sync_seconds = 0;
};

/// The files of the audit trail.
struct AuditFileState {
  int64_t used_bytes = 0, limit_bytes = 0;
  int64_t records_lost = 0;  // since the start
  bool is_writable = true;
};

/// Spans of jobs' traces, since the start.
struct TraceSpans {
  int64_t exported = 0, dropped = 0;
};

/// The index that the nodes of a cluster share.
struct SharedIndexState {
  bool is_up = false;        // this node reads it and writes into it
  int64_t waiting_jobs = 0;  // whose result it does not know as it is
};

/// Copies of frames between nodes.
struct ReplicationState {
  int jobs = 0;      // of this node, whose keeper has all their frames
  int degraded = 0;  // of this node, whose keeper has not
  int kept = 0;      // copies of others' jobs
  int64_t kept_bytes = 0, capacity_bytes = 0;
  int64_t taken_over = 0;              // since the start
  std::optional<bool> keeper_reached;  // of this node's copies; nothing: it has no keeper
  int orphans = 0;                     // copies whose node is lost, and that are still here
};

/// What is in the queue of one DICOM destination.
struct SendQueue {
  std::string destination;
  std::vector<std::pair<std::string, int64_t>> instances;  // by state
  double oldest_seconds = 0;                               // age of the oldest that is not done
};

/// What the information system is still to be told of acquisitions.
struct ProcedureSteps {
  std::vector<std::pair<std::string, int64_t>> steps;  // by state
  double oldest_seconds = 0;                           // since the oldest of those that wait began
};

/// The newest test of image quality of a room and protocol.
struct QualityTest {
  struct Figure {
    std::string measure;
    double value = 0;
    /// From the baseline, in units of its tolerance: beyond -1 to 1 it has not passed. Infinite: it
    /// was not measured. Empty: there is no baseline.
    std::optional<double> deviation;
  };
  std::string station, protocol;
  double unix_seconds = 0;  // when it was recorded
  std::vector<Figure> figures{};
};

/// What is read at each scrape; called from the HTTP server's threads. What is null is not shown.
struct Sources {
  std::function<Readiness()> readiness;
  std::function<jobs::JobCounts()> jobs;
  int max_active_jobs = 0;  // 0: not shown
  /// When the service last ended because no device was left, in seconds since 1970; 0: never.
  double no_device_unix_seconds = 0;
  std::function<int64_t()> queue_depth;
  std::function<std::vector<DiskSpace>()> disks;
  std::function<int()> jobs_waiting_for_room;
  std::function<int()> damaged_job_records;
  std::function<std::vector<DeviceMemory>()> device_memory;
  std::function<std::vector<DeviceHealth>()> devices_healthy;
  std::function<SpoolState()> spool;
  std::function<AuditFileState()> audit_file;
  std::function<int64_t()> audit_waiting;  // records that the repository has not got
  std::function<TraceSpans()> trace_spans;
  std::function<SharedIndexState()> shared_index;
  std::function<ReplicationState()> replication;
  std::function<std::vector<SendQueue>()> send_queues;
  std::function<ProcedureSteps()> procedure_steps;
  std::function<std::vector<QualityTest>()> quality;
  /// Whether all that the file of tokens says counts.
  std::function<bool()> tokens_are_right;
  /// When the identity provider's keys were fetched last, in seconds since 1970; 0: never.
  std::function<double()> provider_keys_unix_seconds;
};

/// Counts jobs and serves /metrics. Labels have few values, but for the job ids of a window of
/// recent jobs. No patient data. Thread-safe.
class Metrics : public jobs::JobObserver {
 public:
  /// Jobs whose speed is shown by id.
  static constexpr size_t kRecentJobs = 16;

  struct BuildInfo {
    std::string version;
    std::string backend;
  };
  explicit Metrics(const BuildInfo& build);
  ~Metrics() override;

  /// Serves http://address/metrics, once; port 0 picks a free one. Errors: UNAVAILABLE (the address
  /// cannot be listened on).
  absl::Status Serve(const std::string& address, Sources sources);
  /// The port that is served.
  int port() const;
  /// Ends serving, after which the sources are not called any more.
  void Stop();

  void OnJobAccepted(const jobs::Job& job) override;
  void OnStateChanged(const jobs::Job& job, jobs::JobState from) override;
  void OnFrame(int64_t bytes) override;
  void OnJobEnded(const jobs::Job& job) override;
  void OnRefused(const absl::Status& reason, const std::string& station_name) override;
  void OnFrameRefused(const absl::Status& reason) override;
  void OnFrameSpooled(double seconds) override;
  void OnWarning(jobs::WarningKind kind) override;
  void OnPrediction(const std::string& device, double predicted_seconds,
                    double actual_seconds) override;
  void OnComputed(const std::string& device, double voxel_updates, double busy_seconds) override;
  void OnJobResumed(absl::string_view reason) override;
  void OnDeviceLost(const std::string& device) override;
  void OnAcquisitionBegan(const jobs::Job&) override {}
  /// As EngineOptions::early_refinement_ended.
  void OnEarlyRefinement(absl::string_view outcome);
  /// One finished operation of the DICOM node; both are from small fixed sets.
  void OnDicomOperation(absl::string_view operation, absl::string_view outcome);
  /// A call or connection beyond the limits of one caller; `limit` is from a small fixed set.
  void OnCallerRefused(absl::string_view limit);
  /// A token that was not taken; `reason` is from a small fixed set.
  void OnTokenRefused(absl::string_view reason);
  /// When a certificate in use ends, in seconds since 1970; `certificate` is its field in the
  /// configuration.
  void SetCertificateExpiry(const std::string& certificate, double unix_seconds);
  /// An instance on its way to a configured destination; `event` is from a small fixed set.
  void OnDicomSend(const std::string& destination, absl::string_view event);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace isocenter::metrics
