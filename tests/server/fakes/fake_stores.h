// The ports of server/jobs in memory, with faults on demand. Thread-safe.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "server/jobs/ports.h"

namespace isocenter::testing {

class FakeJobStore : public jobs::JobStore {
 public:
  absl::Status Save(const jobs::Job& job) override {
    absl::MutexLock lock(&mutex_);
    saving_ = true;
    auto open = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return gate_open_; };
    mutex_.Await(absl::Condition(&open));
    saving_ = false;
    if (!error_.ok()) return error_;
    jobs_[job.id] = job;
    history_.push_back({job.id, job.state});
    return absl::OkStatus();
  }
  absl::StatusOr<jobs::StoredJobs> LoadAll() override {
    absl::MutexLock lock(&mutex_);
    jobs::StoredJobs all;
    for (const auto& [id, job] : jobs_) {
      if (damaged_.contains(id)) {
        all.damaged.push_back({id, absl::DataLossError("damaged")});
      } else {
        all.jobs.push_back(job);
      }
    }
    return all;
  }
  absl::Status SaveTrace(const std::string& job_id, const std::string& trace) override {
    absl::MutexLock lock(&mutex_);
    traces_[job_id] = trace;
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> LoadTrace(const std::string& job_id) override {
    absl::MutexLock lock(&mutex_);
    if (!traces_.contains(job_id)) return absl::NotFoundError("no trace");
    return traces_[job_id];
  }
  absl::Status Delete(const std::string& job_id) override {
    absl::MutexLock lock(&mutex_);
    jobs_.erase(job_id);
    traces_.erase(job_id);
    return absl::OkStatus();
  }

  /// The job's record cannot be read any more.
  void Damage(const std::string& job_id) {
    absl::MutexLock lock(&mutex_);
    damaged_.insert(job_id);
  }
  /// While closed, Save waits.
  void SetGate(bool open) {
    absl::MutexLock lock(&mutex_);
    gate_open_ = open;
  }
  void WaitUntilSaving() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&saving_));
  }
  /// Save fails with it until it is OK again.
  void FailWith(absl::Status error) {
    absl::MutexLock lock(&mutex_);
    error_ = std::move(error);
  }
  std::map<std::string, jobs::Job> jobs() const {
    absl::MutexLock lock(&mutex_);
    return jobs_;
  }
  /// Every state that was saved, in order.
  std::vector<std::pair<std::string, jobs::JobState>> history() const {
    absl::MutexLock lock(&mutex_);
    return history_;
  }

 private:
  mutable absl::Mutex mutex_;
  bool gate_open_ ABSL_GUARDED_BY(mutex_) = true;
  bool saving_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, jobs::Job> jobs_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> damaged_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> traces_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, jobs::JobState>> history_ ABSL_GUARDED_BY(mutex_);
};

/// Keeps volumes on a disk of its own, and writes two files per job for downloads: raw, and
/// "slices" that are no DICOM.
class FakeResultStore : public jobs::ResultStore {
 public:
  explicit FakeResultStore(std::filesystem::path directory) : directory_(std::move(directory)) {
    std::filesystem::create_directories(directory_);
  }

  int64_t StoredBytes(const VolumeGrid& grid, const jobs::DicomForms&) const override {
    return 8 * grid.voxels();
  }
  absl::StatusOr<jobs::Disk> GetDisk() const override {
    absl::MutexLock lock(&mutex_);
    return DiskLocked();
  }
  absl::StatusOr<jobs::StoredSeries> Store(
      const jobs::Job& job, HostView3<const float> hounsfield,
      const std::function<absl::Status(int slices)>& await,
      const std::function<bool(int slices)>& progress) override {
    absl::Status error;
    {
      absl::MutexLock lock(&mutex_);
      storing_ = true;
      auto open = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return gate_open_; };
      mutex_.Await(absl::Condition(&open));
      storing_ = false;
      error = error_;
    }
    if (!error.ok()) return error;
    for (int slice = 1; slice <= hounsfield.shape().slow; ++slice) {
      if (await) ISO_RETURN_IF_ERROR(await(slice));
      if (!progress(slice)) return absl::CancelledError("cancelled between slices");
    }
    const int64_t bytes = StoredBytes(job.grid, job.dicom_forms);
    {
      absl::MutexLock lock(&mutex_);
      if (DiskLocked().free_bytes < bytes) return absl::ResourceExhaustedError("no byte is left");
      disk_.free_bytes -= bytes;
    }
    const auto span = hounsfield.span();
    std::ofstream(directory_ / (job.id + ".raw"), std::ios::binary)
        .write(reinterpret_cast<const char*>(span.data()),
               static_cast<std::streamsize>(span.size_bytes()));
    for (int i = 0; i < 2; ++i) {
      std::ofstream(directory_ / absl::StrCat(job.id, "-", i, ".dcm")) << "file " << i;
    }
    absl::MutexLock lock(&mutex_);
    volumes_[job.id].assign(span.begin(), span.end());
    jobs_[job.id] = job;
    ++stores_[job.id];
    return SeriesOf(job);
  }
  absl::StatusOr<jobs::StoredSeries> Find(const jobs::Job& job) override {
    absl::MutexLock lock(&mutex_);
    if (!volumes_.contains(job.id)) return absl::NotFoundError("no volume");
    return SeriesOf(job);
  }
  absl::StatusOr<std::string> PatientIdOfStudy(const std::string& study_instance_uid) override {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, job] : jobs_) {
      if (job.patient_study.study_instance_uid == study_instance_uid) {
        return job.patient_study.patient_id;
      }
    }
    return absl::NotFoundError("no such study");
  }
  absl::StatusOr<std::vector<std::filesystem::path>> DicomFiles(
      const std::string& job_id) override {
    return std::vector<std::filesystem::path>{directory_ / (job_id + "-0.dcm"),
                                              directory_ / (job_id + "-1.dcm")};
  }
  absl::StatusOr<std::filesystem::path> RawFile(const std::string& job_id) override {
    return directory_ / (job_id + ".raw");
  }

  /// While closed, Store waits.
  void SetGate(bool open) {
    absl::MutexLock lock(&mutex_);
    gate_open_ = open;
  }
  void WaitUntilStoring() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&storing_));
  }
  void FailWith(absl::Status error) {
    absl::MutexLock lock(&mutex_);
    error_ = std::move(error);
  }
  void SetFreeBytes(int64_t bytes) {
    absl::MutexLock lock(&mutex_);
    disk_.free_bytes = bytes;
  }
  void SetTotalBytes(int64_t bytes) {
    absl::MutexLock lock(&mutex_);
    disk_.total_bytes = bytes;
  }
  /// The files of this directory are on the same disk, and are not counted as free.
  void ShareDiskWith(std::filesystem::path directory) {
    absl::MutexLock lock(&mutex_);
    shared_ = std::move(directory);
  }
  std::vector<float> volume(const std::string& job_id) {
    absl::MutexLock lock(&mutex_);
    return volumes_[job_id];
  }
  /// As if nothing had been stored of the job.
  void Forget(const std::string& job_id) {
    absl::MutexLock lock(&mutex_);
    volumes_.erase(job_id);
    jobs_.erase(job_id);
    stores_.erase(job_id);
  }
  /// How often a job's volume was stored.
  int stores(const std::string& job_id) {
    absl::MutexLock lock(&mutex_);
    return stores_[job_id];
  }
  /// The job as the store was given it.
  jobs::Job job(const std::string& job_id) {
    absl::MutexLock lock(&mutex_);
    return jobs_[job_id];
  }

 private:
  jobs::Disk DiskLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    jobs::Disk disk = disk_;
    if (shared_.empty()) return disk;
    std::error_code gone;  // while it is looked at
    for (const auto& file : std::filesystem::directory_iterator(shared_, gone)) {
      const auto bytes = file.file_size(gone);
      if (!gone) disk.free_bytes -= static_cast<int64_t>(bytes);
    }
    return disk;
  }
  static jobs::StoredSeries SeriesOf(const jobs::Job& job) {
    return {.study_instance_uid = "1.2.3",
            .series_instance_uid = "1.2.3.4",
            .frame_of_reference_uid = "1.2.3.5",
            .instance_count = job.grid.nz};
  }

  const std::filesystem::path directory_;
  mutable absl::Mutex mutex_;
  bool gate_open_ ABSL_GUARDED_BY(mutex_) = true;
  bool storing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  jobs::Disk disk_ ABSL_GUARDED_BY(mutex_) = {.id = 1, .free_bytes = int64_t{1} << 50};
  std::filesystem::path shared_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<float>> volumes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, jobs::Job> jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> stores_ ABSL_GUARDED_BY(mutex_);
};

/// Counts what it is told.
class FakeObserver : public jobs::JobObserver {
 public:
  void OnJobAccepted(const jobs::Job&) override { Count("accepted"); }
  void OnStateChanged(const jobs::Job& job, jobs::JobState) override {
    Count(std::string(jobs::Name(job.state)));
    absl::MutexLock lock(&mutex_);
    states_[job.id].push_back(job.state);
  }
  void OnFrame(int64_t) override { Count("frame"); }
  void OnJobEnded(const jobs::Job&) override { Count("ended"); }
  void OnRefused(const absl::Status& reason, const std::string&) override {
    Count("refused " + absl::StatusCodeToString(reason.code()));
  }
  void OnFrameRefused(const absl::Status& reason) override {
    Count("frame refused " + absl::StatusCodeToString(reason.code()));
  }
  void OnFrameSpooled(double) override { Count("frame spooled"); }
  void OnWarning(jobs::WarningKind kind) override {
    Count(absl::StrCat("warning ", jobs::Name(kind)));
  }
  void OnPrediction(const std::string& device, double, double) override {
    Count("prediction " + device);
  }
  void OnComputed(const std::string& device, double, double) override {
    Count("computed " + device);
  }
  void OnJobResumed(absl::string_view reason) override { Count(absl::StrCat("resumed ", reason)); }
  void OnDeviceLost(const std::string& device) override { Count("lost " + device); }
  void OnAcquisitionBegan(const jobs::Job& job) override {
    Count("began");
    absl::MutexLock lock(&mutex_);
    began_[job.id] = job;
  }
  /// A job as it was when its acquisition had begun; empty when that was not told.
  jobs::Job began(const std::string& job_id) {
    absl::MutexLock lock(&mutex_);
    return began_[job_id];
  }
  /// All that a job came to, in order.
  std::vector<jobs::JobState> states(const std::string& job_id) {
    absl::MutexLock lock(&mutex_);
    return states_[job_id];
  }
  int count(const std::string& what) {
    absl::MutexLock lock(&mutex_);
    return counts_[what];
  }

 private:
  void Count(const std::string& what) {
    absl::MutexLock lock(&mutex_);
    ++counts_[what];
  }
  absl::Mutex mutex_;
  std::map<std::string, int> counts_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, jobs::Job> began_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<jobs::JobState>> states_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::testing
