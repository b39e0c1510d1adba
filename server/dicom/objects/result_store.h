// Finished volumes as DICOM objects and raw files in the archive.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "server/archive/archive.h"
#include "server/archive/routing.h"
#include "server/dicom/objects/study_context.h"
#include "server/jobs/ports.h"

namespace isocenter::dicom {

/// See jobs::ResultStore. Volumes are encoded on all cores, one volume at a time.
class DicomResultStore : public jobs::ResultStore {
 public:
  /// The archive must outlive the store. `routes`: where results are sent by themselves. Errors:
  /// FAILED_PRECONDITION (the DICOM dictionary is not loaded).
  static absl::StatusOr<std::unique_ptr<jobs::ResultStore>> Create(
      archive::Archive& archive, std::vector<archive::Route> routes = {});

  int64_t StoredBytes(const VolumeGrid& grid, const jobs::DicomForms& forms) const override;
  absl::StatusOr<jobs::Disk> GetDisk() const override { return archive_.GetDisk(); }
  /// Besides the errors of the interface: INVALID_ARGUMENT (the volume's shape is not the grid's, a
  /// study UID that is none).
  absl::StatusOr<jobs::StoredSeries> Store(
      const jobs::Job& job, HostView3<const float> hounsfield,
      const std::function<absl::Status(int slices)>& await,
      const std::function<bool(int slices)>& progress) override;
  absl::StatusOr<jobs::StoredSeries> Find(const jobs::Job& job) override;
  absl::StatusOr<std::string> PatientIdOfStudy(const std::string& study_instance_uid) override;
  absl::StatusOr<std::vector<std::filesystem::path>> DicomFiles(const std::string& job_id) override;
  absl::StatusOr<std::filesystem::path> RawFile(const std::string& job_id) override;

 private:
  DicomResultStore(archive::Archive& archive, std::vector<archive::Route> routes);
  /// What the archive has of the study that a job's series belongs to.
  absl::StatusOr<StudyContext> ContextOf(const jobs::Job& job);

  archive::Archive& archive_;
  const std::vector<archive::Route> routes_;
  ThreadPool pool_;
};

}  // namespace isocenter::dicom
