#include "server/pipeline/subtraction.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"

namespace isocenter::pipeline {
namespace {

using jobs::Job;
using jobs::JobState;

/// A stored volume, read from its beginning.
class VolumeReader {
 public:
  static absl::StatusOr<VolumeReader> Open(const Job& job, jobs::ResultStore& results) {
    ISO_ASSIGN_OR_RETURN(const std::filesystem::path path, results.RawFile(job.id));
    VolumeReader reader;
    reader.name_ = absl::StrCat("the volume of job '", job.id, "'");
    reader.file_.open(path, std::ios::binary);
    if (!reader.file_) {
      return absl::InternalError(
          absl::StrCat("cannot open ", reader.name_, ": ", std::strerror(errno)));
    }
    return reader;
  }
  absl::Status Read(float* values, int64_t count) {
    file_.read(reinterpret_cast<char*>(values), count * static_cast<int64_t>(sizeof(float)));
    return file_ ? absl::OkStatus()
                 : absl::DataLossError(absl::StrCat(name_, " is shorter than its grid"));
  }

 private:
  std::string name_;
  std::ifstream file_;
};

Job SubtractionJob(const Job& mask, const Job& fill) {
  Job job;
  job.id = absl::StrCat(fill.id, "-sub");
  job.source_job_ids = {mask.id, fill.id};
  job.patient_study = fill.patient_study;
  job.patient_study.study_instance_uid = fill.result.study_instance_uid;
  job.order = fill.order;
  job.order.is_reported = false;  // not an acquisition
  job.facts = fill.facts;
  job.protocol = fill.protocol;
  job.station_name = fill.station_name;
  job.job_class = jobs::JobClass::kInteractive;
  job.pair_id = fill.pair_id;
  job.pair_role = jobs::PairRole::kSubtraction;
  job.dicom_forms = fill.dicom_forms;
  job.grid = fill.grid;
  job.progress.frames_total = job.progress.frames_received = job.progress.frames_backprojected =
      fill.facts.frames;
  job.progress.slices_total = fill.grid.nz;
  job.result.backend = fill.result.backend;
  for (const Job* half : {&mask, &fill}) {
    for (const std::string& warning : half->result.warnings) {
      job.result.warnings.push_back(
          absl::StrCat(std::string(jobs::Name(half->pair_role)), ": ", warning));
    }
  }
  job.create_time = absl::Now();
  return job;
}

absl::StatusOr<jobs::StoredSeries> StoreDifference(const Job& job, const Pair& pair,
                                                   jobs::JobTable& table,
                                                   jobs::ResultStore& results,
                                                   scheduler::MemoryBudget& memory) {
  const int64_t voxels = job.grid.voxels();
  ISO_ASSIGN_OR_RETURN(const scheduler::Reservation reservation,
                       memory.Reserve(voxels * static_cast<int64_t>(sizeof(float))));
  const std::unique_ptr<float[]> difference(new float[voxels]);
  ISO_ASSIGN_OR_RETURN(VolumeReader mask, VolumeReader::Open(*pair.mask, results));
  ISO_ASSIGN_OR_RETURN(VolumeReader fill, VolumeReader::Open(*pair.fill, results));
  const int64_t slice = int64_t{job.grid.nx} * job.grid.ny;
  std::vector<float> mask_slice(slice);
  int done = 0;
  const auto subtract_until = [&](int slices) -> absl::Status {
    for (; done < slices; ++done) {
      float* const values = difference.get() + done * slice;
      ISO_RETURN_IF_ERROR(fill.Read(values, slice));
      ISO_RETURN_IF_ERROR(mask.Read(mask_slice.data(), slice));
      for (int64_t i = 0; i < slice; ++i) values[i] -= mask_slice[i];
    }
    return absl::OkStatus();
  };
  return results.Store(
      job, HostView3<const float>(difference.get(), job.grid.shape()), subtract_until,
      [&](int slices) {
        table.Update(job.id, [&](Job& changed) { changed.progress.slices_exported = slices; });
        return true;
      });
}

}  // namespace

Pair FindPair(const jobs::JobTable& table, const std::string& pair_id) {
  Pair pair;
  for (const jobs::JobSnapshot& job :
       table.List({.pair_id = pair_id}, std::nullopt, std::numeric_limits<int>::max())) {
    // Newest first: a failed attempt may have been repeated.
    jobs::JobSnapshot& place = job->pair_role == jobs::PairRole::kMask   ? pair.mask
                               : job->pair_role == jobs::PairRole::kFill ? pair.fill
                                                                         : pair.subtraction;
    if (place == nullptr) place = job;
  }
  return pair;
}

absl::Status Subtract(const Pair& pair, jobs::JobTable& table, jobs::ResultStore& results,
                      scheduler::MemoryBudget& memory) {
  const Job job = SubtractionJob(*pair.mask, *pair.fill);
  const absl::Status inserted = table.Insert(job);
  if (absl::IsAlreadyExists(inserted)) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(inserted);
  ISO_RETURN_IF_ERROR(table.Transition(job.id, JobState::kReconstructing));
  ISO_RETURN_IF_ERROR(table.Transition(job.id, JobState::kExporting));
  const absl::StatusOr<jobs::StoredSeries> stored =
      StoreDifference(job, pair, table, results, memory);
  const absl::Time end = absl::Now();
  if (!stored.ok()) {
    (void)table.Transition(job.id, JobState::kFailed, [&](Job& changed) {
      changed.error = stored.status();
      changed.end_time = end;
    });
    return stored.status();
  }
  return table.Transition(job.id, JobState::kCompleted, [&](Job& changed) {
    changed.end_time = end;
    jobs::RecordStored(*stored, changed);
    changed.result.timings.total = absl::ToDoubleSeconds(end - job.create_time);
  });
}

}  // namespace isocenter::pipeline
