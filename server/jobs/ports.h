// What the jobs need of the world; the adapters of other rooms implement it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "server/jobs/disk.h"
#include "server/jobs/job.h"

namespace isocenter::jobs {

/// A record that cannot be read.
struct DamagedRecord {
  std::string job_id;  // as the store has it; of printable characters
  absl::Status what;   // DATA_LOSS
};

/// All that a store has.
struct StoredJobs {
  std::vector<Job> jobs;
  std::vector<DamagedRecord> damaged;
};

/// Job records that survive a restart. Thread-safe.
class JobStore {
 public:
  virtual ~JobStore() = default;
  /// Inserts or replaces by id.
  virtual absl::Status Save(const Job& job) = 0;
  /// One record that cannot be read costs no other.
  virtual absl::StatusOr<StoredJobs> LoadAll() = 0;
  /// Keeps a job's trace as text, for LoadTrace. Errors of LoadTrace: NOT_FOUND.
  virtual absl::Status SaveTrace(const std::string& job_id, const std::string& trace) = 0;
  virtual absl::StatusOr<std::string> LoadTrace(const std::string& job_id) = 0;
  /// Removes the record and everything stored for the job. OK when there is nothing.
  virtual absl::Status Delete(const std::string& job_id) = 0;
};

/// What was stored of one finished volume. Of several series, one for each form, the first is
/// named: that of CT images where there is one.
struct StoredSeries {
  std::string study_instance_uid, series_instance_uid, frame_of_reference_uid;
  int instance_count = 0;  // of all series
};

/// What a completed job says of its result.
inline void RecordStored(const StoredSeries& stored, Job& job) {
  job.result.study_instance_uid = stored.study_instance_uid;
  job.result.series_instance_uid = stored.series_instance_uid;
  job.result.frame_of_reference_uid = stored.frame_of_reference_uid;
  job.result.instance_count = stored.instance_count;
  job.progress.slices_exported = job.progress.slices_total;
}

/// Turns finished volumes into stored results. Thread-safe.
class ResultStore {
 public:
  virtual ~ResultStore() = default;
  /// An upper bound of what a volume of this grid takes on the disk, with all that is stored of it.
  virtual int64_t StoredBytes(const VolumeGrid& grid, const DicomForms& forms) const = 0;
  /// The disk that results are stored on. Errors: INTERNAL.
  virtual absl::StatusOr<Disk> GetDisk() const = 0;
  /// Encodes and stores a volume in Hounsfield units, [z][y][x], so that either all of it becomes
  /// visible (to queries and after a restart) or nothing. Storing the same job again replaces it
  /// with the same UIDs. `await(n)` returns when the first n slices have their values, and may
  /// fail; n ascends to the number of slices. `progress` is called with the number of slices done;
  /// returning false cancels (CANCELLED). Both are called from one thread; either may be null.
  /// Errors: RESOURCE_EXHAUSTED (disk full; the free and the needed bytes are named), INTERNAL,
  /// CANCELLED, those of `await`.
  virtual absl::StatusOr<StoredSeries> Store(const Job& job, HostView3<const float> hounsfield,
                                             const std::function<absl::Status(int slices)>& await,
                                             const std::function<bool(int slices)>& progress) = 0;
  /// What has been stored of a job. Errors: NOT_FOUND.
  virtual absl::StatusOr<StoredSeries> Find(const Job& job) = 0;
  /// The patient id under which results of a study are stored; empty: they have none. Errors:
  /// NOT_FOUND (nothing is stored of the study).
  virtual absl::StatusOr<std::string> PatientIdOfStudy(const std::string& study_instance_uid) = 0;
  /// DICOM files of a completed job, by series, then in slice order. Errors: NOT_FOUND.
  virtual absl::StatusOr<std::vector<std::filesystem::path>> DicomFiles(
      const std::string& job_id) = 0;
  /// File with the volume: float32 little-endian HU, [z][y][x], nothing else. Errors: NOT_FOUND.
  virtual absl::StatusOr<std::filesystem::path> RawFile(const std::string& job_id) = 0;
};

/// Told about everything that operators count. Thread-safe, quick, never fails.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void OnJobAccepted(const Job& job) = 0;
  virtual void OnStateChanged(const Job& job, JobState from) = 0;
  virtual void OnFrame(int64_t bytes) = 0;
  /// Completed, failed or cancelled; `job.result` and `job.error` are final.
  virtual void OnJobEnded(const Job& job) = 0;
  /// An acquisition got no job. `station_name`: the room as it names itself, unchecked; empty where
  /// it had not yet said.
  virtual void OnRefused(const absl::Status& reason, const std::string& station_name) = 0;
  /// What a console sent into an acquisition under way was not taken: damaged on its way
  /// (DATA_LOSS), or illegal.
  virtual void OnFrameRefused(const absl::Status& reason) = 0;
  /// A frame is in the spool, so long after it came.
  virtual void OnFrameSpooled(double seconds) = 0;
  virtual void OnWarning(WarningKind kind) = 0;
  /// A job's computing time on a device ("cuda0") as it was predicted, and as it was.
  virtual void OnPrediction(const std::string& device, double predicted_seconds,
                            double actual_seconds) = 0;
  /// A volume is complete: voxel updates that a device did for it, and how long it was busy.
  virtual void OnComputed(const std::string& device, double voxel_updates, double busy_seconds) = 0;
  /// `reason`: "console" (a new stream went on with a job), "restart" (of the service), "device"
  /// (another computes the job again).
  virtual void OnJobResumed(absl::string_view reason) = 0;
  virtual void OnDeviceLost(const std::string& device) = 0;
  /// The first frame of an acquisition is in the spool, and whose it is will not change any more.
  /// Repeated after a restart; may come after OnJobEnded, or, when the job ends at once, not at
  /// all.
  virtual void OnAcquisitionBegan(const Job& job) = 0;
};

}  // namespace isocenter::jobs
