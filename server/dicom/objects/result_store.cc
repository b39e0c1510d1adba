#include "server/dicom/objects/result_store.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/objects/dictionary.h"
#include "server/dicom/objects/study_context.h"
#include "server/dicom/objects/volume_writer.h"

namespace isocenter::dicom {
namespace {

constexpr int kSlicesPerReport = 32;
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

}  // namespace

DicomResultStore::DicomResultStore(archive::Archive& archive, std::vector<archive::Route> routes)
    : archive_(archive), routes_(std::move(routes)), pool_(UsableCores()) {}

absl::StatusOr<std::unique_ptr<jobs::ResultStore>> DicomResultStore::Create(
    archive::Archive& archive, std::vector<archive::Route> routes) {
  ISO_RETURN_IF_ERROR(CheckDictionary());
  return std::unique_ptr<jobs::ResultStore>(new DicomResultStore(archive, std::move(routes)));
}

int64_t DicomResultStore::StoredBytes(const VolumeGrid& grid, const jobs::DicomForms& forms) const {
  return static_cast<int64_t>(VolumeWriter::StoredBytes(grid, forms));
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
    if (std::ranges::find(job.source_job_ids, other.job_id) == job.source_job_ids.end()) continue;
    context.sources.push_back({.job_id = other.job_id,
                               .series_instance_uid = other.series.instance_uid,
                               .form = other.series.modality == ModalityOf(Form::kXray3d)
                                           ? Form::kXray3d
                                           : Form::kCtSeries,
                               .instances = static_cast<int>(other.instance_count)});
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
  ISO_ASSIGN_OR_RETURN(
      archive::Staging staging,
      archive_.Stage(job.id, VolumeWriter::StoredBytes(job.grid, job.dicom_forms)));
  ISO_ASSIGN_OR_RETURN(VolumeWriter writer,
                       VolumeWriter::Create(staging.directory(), job, context));

  FirstError error;
  std::vector<std::vector<int16_t>> scratch(pool_.threads(),
                                            std::vector<int16_t>(shape.middle * shape.fast));
  for (int first = 0; first < shape.slow; first += kSlicesPerReport) {
    const int count = std::min<int>(kSlicesPerReport, static_cast<int>(shape.slow) - first);
    if (await) ISO_RETURN_IF_ERROR(await(first + count));
    pool_.ParallelFor(count, [&](int64_t index, int worker) {
      const int slice = first + static_cast<int>(index);
      const std::span<const float> values = hounsfield.slices(slice, 1).span();
      error.Update(writer.WriteSlice(slice, values, scratch[worker]));
    });
    writer.StartWriteback();
    ISO_RETURN_IF_ERROR(error.Get());
    if (progress && !progress(first + count)) {
      return absl::CancelledError(
          absl::StrCat("storing job ", job.id, " was cancelled after ", first + count, " slices"));
    }
  }
  archive::Result result = writer.result();
  result.destinations = archive::DestinationsOf(routes_, job);
  ISO_RETURN_IF_ERROR(archive_.Commit(std::move(staging), result));
  size_t instances = result.instances.size();
  for (const archive::SeriesFiles& further : result.further_series) {
    instances += further.instances.size();
  }
  return jobs::StoredSeries{result.study.instance_uid, result.series.instance_uid,
                            result.series.frame_of_reference_uid, static_cast<int>(instances)};
}

absl::StatusOr<jobs::StoredSeries> DicomResultStore::Find(const jobs::Job& job) {
  ISO_ASSIGN_OR_RETURN(
      const std::vector<archive::SeriesRow> found,
      archive_.FindSeries({.series_uids = {SeriesInstanceUid(job.id, Form::kCtSeries),
                                           SeriesInstanceUid(job.id, Form::kXray3d)}}));
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no result is stored for job '", job.id, "'"));
  }
  const archive::SeriesRow& first = found.front();  // by number
  jobs::StoredSeries stored{first.study.instance_uid, first.series.instance_uid,
                            first.series.frame_of_reference_uid, 0};
  for (const archive::SeriesRow& row : found) {
    stored.instance_count += static_cast<int>(row.instance_count);
  }
  return stored;
}

absl::StatusOr<std::string> DicomResultStore::PatientIdOfStudy(
    const std::string& study_instance_uid) {
  ISO_ASSIGN_OR_RETURN(std::vector<archive::StudyRow> found,
                       archive_.FindStudies({.study_uids = {study_instance_uid}}));
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("nothing is stored of study '", study_instance_uid, "'"));
  }
  return std::move(found.front().patient.id);
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
