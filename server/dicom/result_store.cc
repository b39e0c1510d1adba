#include "server/dicom/result_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/dictionary.h"
#include "server/storage/files.h"

namespace isocenter::dicom {
namespace {

constexpr int kSlicesPerReport = 32;
// Generous bounds of what a file has besides its pixels, and of what the index grows by.
constexpr uint64_t kHeaderBytes = 16384;
constexpr uint64_t kIndexBytes = 4 << 20;

/// An upper bound of what a stored volume takes: float32 values, int16 slices, the index.
uint64_t StoredBytes(const Shape3& shape) {
  const auto pixels = static_cast<uint64_t>(shape.middle * shape.fast);
  return static_cast<uint64_t>(shape.slow) *
             (pixels * (sizeof(float) + sizeof(int16_t)) + kHeaderBytes) +
         kIndexBytes;
}

/// Keeps the first error of several threads.
class FirstError {
 public:
  void Update(absl::Status status) {
    if (status.ok()) return;
    absl::MutexLock lock(&mutex_);
    if (status_.ok()) status_ = std::move(status);
  }
  absl::Status Get() {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

absl::Status WriteSlice(const CtSeries& series, const std::filesystem::path& directory, int slice,
                        std::span<const int16_t> stored) {
  ISO_ASSIGN_OR_RETURN(const std::vector<std::byte> header, series.FileHeader(slice));
  ISO_ASSIGN_OR_RETURN(
      storage::OutputFile file,
      storage::OutputFile::Create(directory / series.index().instances[slice].file_name));
  ISO_RETURN_IF_ERROR(file.WriteAt(0, header, std::as_bytes(stored)));
  file.StartWriteback();
  return absl::OkStatus();
}

}  // namespace

DicomResultStore::DicomResultStore(archive::Archive& archive, std::vector<Route> routes)
    : archive_(archive), routes_(std::move(routes)), pool_(UsableCores()) {}

absl::StatusOr<std::unique_ptr<jobs::ResultStore>> DicomResultStore::Create(
    archive::Archive& archive, std::vector<Route> routes) {
  ISO_RETURN_IF_ERROR(CheckDictionary());
  return std::unique_ptr<jobs::ResultStore>(new DicomResultStore(archive, std::move(routes)));
}

absl::Status DicomResultStore::CheckRoom(const VolumeGrid& grid) {
  return archive_.CheckRoom(StoredBytes(grid.shape()));
}

absl::StatusOr<StudyContext> DicomResultStore::ContextOf(const jobs::Job& job) {
  // A study UID that the job lacks is made from its id, so the number is stable either way.
  const std::string study_uid = StudyInstanceUid(job);
  StudyContext context;
  ISO_ASSIGN_OR_RETURN(context.series_number, archive_.SeriesNumber(study_uid, job.id));
  ISO_ASSIGN_OR_RETURN(std::vector<archive::StudyRow> studies,
                       archive_.FindStudies({.study_uids = {study_uid}}));
  if (!studies.empty()) context.study = std::move(studies.front().study);
  if (job.source_job_ids.empty()) return context;
  ISO_ASSIGN_OR_RETURN(const std::vector<archive::SeriesRow> others,
                       archive_.FindSeries({.study_uids = {study_uid}}));
  for (const archive::SeriesRow& other : others) {
    if (std::ranges::find(job.source_job_ids, other.job_id) != job.source_job_ids.end() &&
        other.instance_count == job.grid.nz) {
      context.source_jobs.push_back(other.job_id);
    }
  }
  return context;
}

absl::StatusOr<jobs::StoredSeries> DicomResultStore::Store(
    const jobs::Job& job, HostView3<const float> hounsfield,
    const std::function<absl::Status(int slices)>& await,
    const std::function<bool(int slices)>& progress) {
  const Shape3 shape = hounsfield.shape();
  if (!(shape == job.grid.shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the volume has ", shape.slow, "x", shape.middle, "x", shape.fast,
                     " voxels [z][y][x]; the grid of job ", job.id, " has ", job.grid.nz, "x",
                     job.grid.ny, "x", job.grid.nx));
  }
  ISO_ASSIGN_OR_RETURN(const StudyContext context, ContextOf(job));
  ISO_ASSIGN_OR_RETURN(const CtSeries series, CtSeries::Create(job, context));

  const int64_t pixels = shape.middle * shape.fast;
  const uint64_t raw_bytes = hounsfield.span().size_bytes();
  const uint64_t needed = StoredBytes(shape);
  ISO_ASSIGN_OR_RETURN(archive::Staging staging, archive_.Stage(job.id, needed));
  const std::filesystem::path directory = staging.directory();
  if (mkdir((directory / "dicom").c_str(), 0700) != 0) {
    return storage::FileError(errno, "create directory", directory / "dicom", needed);
  }
  ISO_ASSIGN_OR_RETURN(
      storage::OutputFile raw,
      storage::OutputFile::Create(directory / series.index().raw_file_name, raw_bytes));

  FirstError error;
  std::vector<std::vector<int16_t>> scratch(pool_.threads(), std::vector<int16_t>(pixels));
  for (int first = 0; first < shape.slow; first += kSlicesPerReport) {
    const int count = std::min<int>(kSlicesPerReport, static_cast<int>(shape.slow) - first);
    if (await) ISO_RETURN_IF_ERROR(await(first + count));
    pool_.ParallelFor(count, [&](int64_t index, int worker) {
      const int slice = first + static_cast<int>(index);
      const std::span<const float> values = hounsfield.slices(slice, 1).span();
      ToStoredValues(values, scratch[worker]);
      error.Update(WriteSlice(series, directory, slice, scratch[worker]));
      error.Update(raw.WriteAt(slice * values.size_bytes(), std::as_bytes(values)));
    });
    raw.StartWriteback();
    ISO_RETURN_IF_ERROR(error.Get());
    if (progress && !progress(first + count)) {
      return absl::CancelledError(
          absl::StrCat("storing job ", job.id, " was cancelled after ", first + count, " slices"));
    }
  }
  archive::Result index = series.index();
  index.destinations = DestinationsOf(routes_, job);
  ISO_RETURN_IF_ERROR(archive_.Commit(std::move(staging), index));
  return jobs::StoredSeries{index.study.instance_uid, index.series.instance_uid,
                            index.series.frame_of_reference_uid,
                            static_cast<int>(index.instances.size())};
}

absl::StatusOr<jobs::StoredSeries> DicomResultStore::Find(const jobs::Job& job) {
  ISO_ASSIGN_OR_RETURN(const std::vector<archive::SeriesRow> found,
                       archive_.FindSeries({.series_uids = {SeriesInstanceUid(job)}}));
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no result is stored for job '", job.id, "'"));
  }
  const archive::SeriesRow& row = found.front();
  return jobs::StoredSeries{row.study.instance_uid, row.series.instance_uid,
                            row.series.frame_of_reference_uid,
                            static_cast<int>(row.instance_count)};
}

absl::StatusOr<std::vector<std::filesystem::path>> DicomResultStore::DicomFiles(
    const std::string& job_id) {
  ISO_ASSIGN_OR_RETURN(archive::ResultFiles files, archive_.FilesOf(job_id));
  return std::move(files.instances);
}

absl::StatusOr<std::filesystem::path> DicomResultStore::RawFile(const std::string& job_id) {
  ISO_ASSIGN_OR_RETURN(archive::ResultFiles files, archive_.FilesOf(job_id));
  return std::move(files.raw);
}

}  // namespace isocenter::dicom
