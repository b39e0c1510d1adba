// A job: one acquisition and what becomes of it. Plain data; translated to the wire, to DICOM and
// to SQL by their rooms.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kernels/geometry/patient_position.h"
#include "kernels/geometry/volume_grid.h"
#include "server/jobs/names.h"

namespace isocenter::jobs {

/// RECEIVING -> RECONSTRUCTING -> (REFINING) -> EXPORTING -> COMPLETED, or FAILED / CANCELLED from
/// any active state. A refinement begins as RECONSTRUCTING. After a restart of the service an
/// active job is RECEIVING again.
enum class JobState {
  kReceiving,
  kReconstructing,
  kRefining,
  kExporting,
  kCompleted,
  kFailed,
  kCancelled
};

constexpr auto NamesOf(JobState) {
  return std::to_array<absl::string_view>(
      {"receiving", "reconstructing", "refining", "exporting", "completed", "failed", "cancelled"});
}

constexpr bool HasEnded(JobState state) { return state >= JobState::kCompleted; }
/// Whether a job may go from one state to the other.
bool IsLegalTransition(JobState from, JobState to);

/// Who is served first. Live: an arm that turns now; interactive: somebody waits for the volume;
/// batch: nobody does.
enum class JobClass { kLive, kInteractive, kBatch };
constexpr auto NamesOf(JobClass) {
  return std::to_array<absl::string_view>({"live", "interactive", "batch"});
}

/// Identity of patient and study, as the acquisition's header gave it and the worklist completed
/// it. UTF-8. Never logged.
struct PatientStudy {
  std::string patient_name, patient_id, patient_birth_date, patient_sex;
  std::string study_instance_uid, accession_number, study_id, study_description;
  std::string referring_physician_name, study_date, study_time;
};

/// Why an operator has cancelled an acquisition; of DICOM's context group 9300 (PS3.16).
enum class CancelReason {
  kUnspecified,
  kDoctorCanceled,
  kEquipmentFailure,
  kIncorrectProcedure,
  kPatientRefused,
  kPatientTakenForTreatment,
  kIncorrectSide,
  kIncorrectWorklistEntry,
  kPatientCondition
};
constexpr auto NamesOf(CancelReason) {
  return std::to_array<absl::string_view>({"unspecified", "doctor_canceled", "equipment_failure",
                                           "incorrect_procedure", "patient_refused",
                                           "patient_taken_for_treatment", "incorrect_side",
                                           "incorrect_worklist_entry", "patient_condition"});
}

/// For which request of the information system an acquisition was made. UTF-8.
struct Order {
  /// The identity of patient and study is complete as far as it will ever be: the worklist has
  /// answered, or was not waited for any longer.
  bool settled = false;
  std::string requested_procedure_id, requested_procedure_description;
  std::string scheduled_step_id, scheduled_step_description, modality;
  /// What the header said, where the worklist has been asked.
  std::string header_patient_id, header_accession_number;
  /// The information system is told of the performed procedure step.
  bool is_reported = false;
  CancelReason cancel_reason = CancelReason::kUnspecified;  // of a cancelled job
};

struct JobProgress {
  int frames_received = 0, frames_backprojected = 0, frames_total = 0;
  int frames_lost = 0;
  int slices_exported = 0, slices_total = 0;
  int iterations_done = 0, iterations_total = 0;  // of a refinement
  double refined_fraction = 0;                    // of all iterations, also within one
};

enum class WarningKind {
  kFrameGap,
  kLateFrame,
  kSaturatedDetector,
  kDeadDetector,
  kDoseDip,
  kMatrixJump,
  kShortArc,
  kDeviceReplaced,
  kStoppedEarly,
  kArchiveFull,
  kCalibration,
  kCutObject,
  kRepeatedFrames,
  kAirLevel,
  kMatricesMisfit,
  kDoseUnknown,
  kUnknownDefects,
  kGridUnseen,
  kBeyondCalibration,
  kWorklistMismatch,
  kWorklistUnavailable,
  kReplicaLost,
  kPhaseGap,
  kImplausibleHeader
};
constexpr auto NamesOf(WarningKind) {
  return std::to_array<absl::string_view>(
      {"frame_gap",          "late_frame",        "saturated_detector",
       "dead_detector",      "dose_dip",          "matrix_jump",
       "short_arc",          "device_replaced",   "stopped_early",
       "archive_full",       "calibration",       "cut_object",
       "repeated_frames",    "air_level",         "matrices_misfit",
       "dose_unknown",       "unknown_defects",   "grid_unseen",
       "beyond_calibration", "worklist_mismatch", "worklist_unavailable",
       "replica_lost",       "phase_gap",         "implausible_header"});
}

/// What the operator of the X-ray system should know while the arm still turns.
struct JobWarning {
  WarningKind kind = WarningKind::kFrameGap;
  std::optional<int> frame;
  std::string text;  // a sentence that a technician understands
  friend bool operator==(const JobWarning&, const JobWarning&) = default;
};

enum class PlaneOrientation { kAxial, kCoronal, kSagittal };
constexpr auto NamesOf(PlaneOrientation) {
  return std::to_array<absl::string_view>({"axial", "coronal", "sagittal"});
}

struct PreviewPlane {
  PlaneOrientation orientation = PlaneOrientation::kAxial;
  int columns = 0, rows = 0;
  double column_spacing_mm = 0, row_spacing_mm = 0;
  std::vector<int16_t> hounsfield;  // [row][column]
};

/// What the volume looks like so far.
struct Preview {
  int frames_backprojected = 0;
  std::vector<PreviewPlane> planes;
};

/// What becomes of a job that lacks frames.
enum class MissingFramesPolicy {
  kFail,
  kInterpolate,  // blended from the neighbours, pixel by pixel
  kReweight,     // left out; the nearest frame that is there counts for its part of the arc
};

struct MissingFrames {
  MissingFramesPolicy policy = MissingFramesPolicy::kInterpolate;
  int longest_gap = 4;         // frames in a row
  double most_missing = 0.05;  // fraction of all frames
  friend bool operator==(const MissingFrames&, const MissingFrames&) = default;
};

/// Half of a subtraction, or its result.
enum class PairRole { kNone, kMask, kFill, kSubtraction };
constexpr auto NamesOf(PairRole) {
  return std::to_array<absl::string_view>({"none", "mask", "fill", "subtraction"});
}

struct StageTimings {
  double upload = 0, download = 0, preprocess = 0, filter = 0, backproject = 0, hounsfield = 0,
         export_ = 0, acquisition = 0, refine = 0,
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

/// The X-ray system, as its console describes it. Empty: unknown. UTF-8.
struct Equipment {
  std::string manufacturer, model_name, device_serial_number, software_versions;
  std::string institution_name, institutional_department_name;
};

/// A range of angles of the C-arm, as DICOM counts them (PS3.3, C.8.7.5.1.2): of the direction from
/// the isocentre to the detector, about the patient.
struct PositionerScan {
  double start_deg = 0, arc_deg = 0;    // arc: 0 or more, from the first frame to the last
  std::optional<double> increment_deg;  // from frame to frame, signed, if it is the same for all
};

/// The set of calibrations that frames are corrected with, or whose matrices they have.
struct UsedCalibration {
  std::string name;
  uint32_t crc32c = 0;            // of the set as it is kept
  bool outside_validity = false;  // when the acquisition was accepted
  absl::Time created = absl::InfinitePast();
  bool verified = false;  // with a scan of water, before the acquisition
  friend bool operator==(const UsedCalibration&, const UsedCalibration&) = default;
};

/// What the phases of frames are of.
enum class PhaseCycle { kUnknown, kCardiac, kRespiratory };
constexpr auto NamesOf(PhaseCycle) {
  return std::to_array<absl::string_view>({"unknown", "cardiac", "respiratory"});
}

/// What the X-ray system says of the acquisition, for DICOM.
struct AcquisitionFacts {
  double tube_voltage_kv = 0;  // 0: unknown, here and below
  double tube_current_ma = 0, exposure_mas = 0, dose_area_product_dgycm2 = 0;
  std::string body_part_examined;
  PatientPosition patient_position = PatientPosition::kHfs;
  std::string laterality;  // "L", "R" or unknown: of a body part that there are two of
  std::string series_description;
  std::string performing_physician_name, operators_name;
  Equipment equipment;
  int detector_rows = 0, detector_columns = 0, detector_bits = 0;  // as the frames were sent
  double detector_row_spacing_mm = 0, detector_column_spacing_mm = 0;
  std::optional<double> i0_counts;  // as the header says; unset: line integrals, or unknown
  /// Left or right of the patient (primary) and towards head or feet (secondary); unset: unknown.
  std::optional<PositionerScan> primary_scan, secondary_scan;
  double source_to_isocenter_mm = 0, source_to_detector_mm = 0;
  double arc_deg = 0;
  int frames = 0;
  double acquisition_seconds = 0;  // from the first frame to the last
  std::string filter_description;  // e.g. "ram-lak 1.00"
  std::string trajectory_hash;     // hex SHA-256 of the matrices in float64
  std::optional<UsedCalibration> calibration;
  std::optional<UsedCalibration>
      geometry;                           // the set that the matrices are of; unset: the console's
  std::optional<PhaseCycle> phase_cycle;  // of the frames' phases; unset: they tell none
};

/// In which kinds of DICOM objects a volume is stored.
struct DicomForms {
  bool ct_series = true;  // CT Image Storage, one object for each slice
  bool xray_3d = false;   // X-Ray 3D Angiographic Image Storage, one object for the volume
  friend bool operator==(const DicomForms&, const DicomForms&) = default;
};

/// What is known of a refinement after an iteration, as kernels/recon reports it.
struct IterationReport {
  int iteration = 0;  // from 1
  double relative_residual = 0;
  std::optional<double> objective;
  double seconds = 0;  // since the first iteration began
};

/// What a second reconstruction corrects for.
struct SecondPassFacts {
  bool metal = false, bone = false, scatter = false, cone_beam = false, motion = false;
  bool self_calibrate = false, complete_rows = false;
  std::optional<std::string> reference_job_id;  // whose volume is held beside the frames
};

/// How the object lay in a frame: kernels/geometry's RigidPose, in degrees.
struct MotionPose {
  double shift_x_mm = 0, shift_y_mm = 0, shift_z_mm = 0;
  double turn_x_deg = 0, turn_y_deg = 0, turn_z_deg = 0;
};

/// How the object moved, as kernels/recon found it from the frames.
struct MotionFacts {
  bool found = false;  // else it is at rest, and there are no poses
  double largest_shift_mm = 0, largest_turn_deg = 0;
  double entropy_before = 0, entropy_after = 0;
  std::vector<MotionPose> poses;  // one for each frame
};

/// How far a frame is shifted on the detector, as kernels/recon's DetectorMove, without the roll.
struct DetectorShift {
  double u_mm = 0, v_mm = 0;
};

/// What an earlier volume said of where the detector was, as kernels/recon's ReferenceMatch.
struct ReferenceFacts {
  bool taken = false;  // its shifts, for those that the frames alone told
  MotionPose patient;  // who lies so in the scan against the volume, about whose middle it turns
  double covered = 0;  // share of the frames' line integrals that it knows whole
  double similarity_before = 0, similarity_after = 0;  // mean gradient correlation
  double entropy = 0, planes = 0;                      // with its shifts; planes 0: not judged
};

/// Where the detector was, as kernels/recon found it from the frames.
struct SelfCalibrationFacts {
  bool found = false;  // else all is where it was, and there are no moves
  bool constant = false, smooth = false;
  double u_mm = 0, roll_deg = 0;  // of all frames alike
  double smooth_rms_mm = 0, largest_smooth_mm = 0;
  double entropy_before = 0, entropy_after = 0;
  double planes_before = 0, planes_after = 0;
  std::string not_judged;            // why nothing was looked for
  std::vector<DetectorShift> moves;  // one for each frame
  std::optional<ReferenceFacts> reference;
};

/// The part of a moving organ's cycle whose frames a volume is made of.
struct PhaseFacts {
  double phase = 0;            // the middle of it, 0 to less than 1
  double width = 1;            // whose frames count half and more
  int frames = 0;              // that are in it
  double largest_gap_deg = 0;  // of the arc in which none of them was taken
  double cycle_seconds = 0;    // from one phase 0 to the next, mean; 0: unknown
};

/// What a refinement does with the frames of another job.
struct RefinementFacts {
  std::string algorithm, projector;            // as kernels/recon names them; empty: no refinement
  std::optional<SecondPassFacts> second_pass;  // unset: it iterates
  std::optional<PhaseFacts> phase;             // unset: of all frames
  std::string frame_of_reference_uid;          // that of the other job's series
  std::string recipe;  // all of what was asked for; only who wrote it can read it
  std::vector<IterationReport> iterations;
  std::vector<std::string>
      findings;  // as sentences; of a second pass what it found, of a scan what was not checked
  std::optional<MotionFacts> motion;  // of a second pass against motion that is complete
  std::optional<SelfCalibrationFacts> self_calibration;  // of one that looked for the detector
};

struct Job {
  static constexpr size_t kMostWarnings = 100;

  std::string id;  // 1 to 64 of [A-Za-z0-9_.-]
  JobState state = JobState::kReceiving;
  absl::Status error;  // of a failed or cancelled job
  PatientStudy patient_study;
  Order order;
  AcquisitionFacts facts;
  std::string protocol, station_name, request_id;
  /// Whose acquisition it is, by the token or certificate shown; empty: nobody was asked.
  std::string begun_by;
  /// The distributed trace it belongs to, as a W3C traceparent; empty: traces are off.
  std::string trace_parent;
  JobClass job_class = JobClass::kLive;
  absl::Time deadline = absl::InfiniteFuture();  // until when the volume is wanted
  std::string pair_id;                           // empty: of no pair
  PairRole pair_role = PairRole::kNone;
  /// Whose volumes a subtraction is made of; whose frames a refinement uses.
  std::vector<std::string> source_job_ids;
  RefinementFacts refinement;
  DicomForms dicom_forms;
  VolumeGrid grid;
  JobProgress progress;
  std::vector<JobWarning> warnings;                      // the first kMostWarnings
  std::shared_ptr<const Preview> preview;                // null: none yet; not stored
  absl::Time predicted_finish = absl::InfiniteFuture();  // of the volume; not stored
  /// Until when an acquisition waits for a stream that goes on with it; InfiniteFuture: it does
  /// not. Not stored.
  absl::Time awaits_console_until = absl::InfiniteFuture();
  JobResult result;  // complete once the state is kCompleted
  absl::Time create_time = absl::InfinitePast();
  absl::Time end_time = absl::InfinitePast();
};

inline bool IsRefinement(const Job& job) { return !job.refinement.algorithm.empty(); }
inline bool IsSecondPass(const Job& job) { return job.refinement.second_pass.has_value(); }
/// Whether its stream is broken, and another may go on with it.
inline bool AwaitsConsole(const Job& job) {
  return job.state == JobState::kReceiving && job.awaits_console_until != absl::InfiniteFuture();
}
/// Whether frames were acquired for the job: it is neither a refinement nor a subtraction.
inline bool IsAcquisition(const Job& job) {
  return !IsRefinement(job) && job.pair_role != PairRole::kSubtraction;
}

/// A new job id: sortable by time, unique across processes, no patient data. E.g.
/// "20260101T120000-7f3a9c21".
std::string NewJobId(absl::Time now);

/// When the job of an id as NewJobId makes them was begun, to the second; of others nothing.
std::optional<absl::Time> BeginOf(const std::string& id);

/// Whether an id may name a file. Errors: INVALID_ARGUMENT, outside 1 to 64 of [A-Za-z0-9_.-], or
/// of dots only.
absl::Status CheckJobId(const std::string& id);

}  // namespace isocenter::jobs
