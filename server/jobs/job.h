// A job: one acquisition and what becomes of it. Plain data; translated to the wire, to DICOM and
// to SQL by their rooms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::jobs {

/// RECEIVING -> RECONSTRUCTING -> (REFINING) -> EXPORTING -> COMPLETED, or FAILED / CANCELLED from
/// any active state.
enum class JobState {
  kReceiving,
  kReconstructing,
  kRefining,
  kExporting,
  kCompleted,
  kFailed,
  kCancelled
};

constexpr bool HasEnded(JobState state) { return state >= JobState::kCompleted; }
/// Lower case, for logs, metrics and the store: "receiving", ...
absl::string_view Name(JobState state);
/// Whether a job may go from one state to the other.
bool IsLegalTransition(JobState from, JobState to);

/// Who is served first. Live: an arm that turns now; interactive: somebody waits for the volume;
/// batch: nobody does.
enum class JobClass { kLive, kInteractive, kBatch };

/// Lower case, for logs, metrics and the store: "live", ...
absl::string_view Name(JobClass job_class);

/// Identity of patient and study, as the acquisition's header gave it. UTF-8. Never logged.
struct PatientStudy {
  std::string patient_name, patient_id, patient_birth_date, patient_sex;
  std::string study_instance_uid, accession_number, study_id, study_description;
  std::string referring_physician_name, study_date, study_time;
};

struct JobProgress {
  int frames_received = 0, frames_backprojected = 0, frames_total = 0;
  int slices_exported = 0, slices_total = 0;
};

struct StageTimings {
  double upload = 0, download = 0, preprocess = 0, filter = 0, backproject = 0, hounsfield = 0,
         export_ = 0, acquisition = 0,
         total = 0;  // seconds
};

struct JobResult {
  std::string study_instance_uid, series_instance_uid, frame_of_reference_uid;
  int instance_count = 0;
  double seconds_after_last_frame = 0;
  double seconds_to_stored = 0;
  double kernel_gups = 0, whole_gups = 0;
  StageTimings timings;
  std::string backend;
  std::vector<std::string> warnings;
};

/// What the X-ray system says of the acquisition, for DICOM.
struct AcquisitionFacts {
  double tube_voltage_kv = 0;  // 0: unknown
  std::string body_part_examined;
  std::string series_description;
  double source_to_isocenter_mm = 0, source_to_detector_mm = 0;
  double arc_deg = 0;
  int frames = 0;
  std::string filter_description;  // e.g. "ram-lak 1.00"
  std::string trajectory_hash;     // hex SHA-256 of the matrices in float64
};

struct Job {
  std::string id;  // 1 to 64 of [A-Za-z0-9_.-]
  JobState state = JobState::kReceiving;
  absl::Status error;  // of a failed or cancelled job
  PatientStudy patient_study;
  AcquisitionFacts facts;
  std::string protocol, station_name, request_id;
  JobClass job_class = JobClass::kLive;
  absl::Time deadline = absl::InfiniteFuture();  // until when the volume is wanted
  VolumeGrid grid;
  JobProgress progress;
  JobResult result;  // complete once the state is kCompleted
  absl::Time create_time = absl::InfinitePast();
  absl::Time end_time = absl::InfinitePast();
};

/// A new job id: sortable by time, unique across processes, no patient data. E.g.
/// "20260101T120000-7f3a9c21".
std::string NewJobId(absl::Time now);

/// Whether an id may name a file. Errors: INVALID_ARGUMENT, outside 1 to 64 of [A-Za-z0-9_.-], or
/// of dots only.
absl::Status CheckJobId(const std::string& id);

}  // namespace isocenter::jobs
