#include "server/pipeline/subtraction_job.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"

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

/// Fill minus mask, as far as it has been subtracted, and the memory for all of it.
struct Difference {
  scheduler::MemoryPromise promise;  // before the memory that it counts
  std::unique_ptr<float[]> values;
  VolumeReader mask, fill;
  std::vector<float> mask_slice;
  int slices = 0;

  absl::Status SubtractUntil(int wanted) {
    const auto slice = static_cast<int64_t>(mask_slice.size());
    for (; slices < wanted; ++slices) {
      float* const difference = values.get() + slices * slice;
      ISO_RETURN_IF_ERROR(fill.Read(difference, slice));
      ISO_RETURN_IF_ERROR(mask.Read(mask_slice.data(), slice));
      for (int64_t i = 0; i < slice; ++i) difference[i] -= mask_slice[i];
    }
    return absl::OkStatus();
  }
};

}  // namespace

Job SubtractionRecord(const Job& mask, const Job& fill, absl::Time now) {
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
  job.trace_parent = fill.trace_parent;
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
  job.create_time = now;
  return job;
}

SubtractionJob::SubtractionJob(const Job& job, Pair pair, scheduler::PromisedMemory& memory,
                               const JobEnvironment& environment)
    : ActiveJob(job.id, job.grid, {job.job_class}, job.create_time, environment),
      pair_(std::move(pair)),
      memory_(memory) {
  // It needs no run: both volumes are stored.
  absl::MutexLock lock(&mutex_);
  Apply(LifeEvent::kVolumeComplete);
}

absl::Status SubtractionJob::Begin() {
  for (const JobState state : {JobState::kReconstructing, JobState::kExporting}) {
    ISO_RETURN_IF_ERROR(environment_.table.Transition(id_, state));
  }
  SubmitExport(nullptr);
  return absl::OkStatus();
}

absl::StatusOr<ActiveJob::Output> SubtractionJob::OutputOf(Run* /*run*/) {
  const auto difference = std::make_shared<Difference>();
  ISO_ASSIGN_OR_RETURN(difference->promise,
                       memory_.Reserve(grid_.voxels() * static_cast<int64_t>(sizeof(float))));
  difference->values.reset(new float[grid_.voxels()]);
  ISO_ASSIGN_OR_RETURN(difference->mask, VolumeReader::Open(*pair_.mask, environment_.results));
  ISO_ASSIGN_OR_RETURN(difference->fill, VolumeReader::Open(*pair_.fill, environment_.results));
  difference->mask_slice.resize(int64_t{grid_.nx} * grid_.ny);
  return Output{HostView3<const float>(difference->values.get(), grid_.shape()),
                [difference](int slices) { return difference->SubtractUntil(slices); }};
}

void SubtractionJob::OnEnded() {
  const absl::StatusOr<jobs::JobSnapshot> job = environment_.table.Get(id_);
  if (!job.ok() || (*job)->state != JobState::kFailed) return;
  spdlog::error("event=subtraction_failed pair={} error=\"{}\"", (*job)->pair_id,
                (*job)->error.ToString());
}

}  // namespace isocenter::pipeline
