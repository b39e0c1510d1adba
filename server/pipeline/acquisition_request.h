// What a console asks for, after translation from the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "kernels/recon/plan.h"
#include "server/jobs/calibrations.h"
#include "server/jobs/job.h"
#include "server/pipeline/refinement_request.h"

namespace isocenter::pipeline {

/// Frames of one job that may be on their way to the disk: what bounds the memory for them. Batch
/// jobs, which come as fast as they are let, must not fill the disk's queue before live ones.
inline constexpr int kMostAppends = 4;
constexpr int MostAppends(jobs::JobClass job_class) {
  return job_class == jobs::JobClass::kBatch ? 1 : kMostAppends;
}

/// "auto": a cube that holds the field of view.
struct AutoGridSize {
  int size = 256;  // voxels per axis
};

/// Everything that is known before the first frame. The trajectory is normalised.
struct AcquisitionRequest {
  jobs::PatientStudy patient_study;
  double tube_voltage_kv = 0;
  double tube_current_ma = 0, exposure_mas = 0, dose_area_product_dgycm2 = 0;
  std::string body_part_examined, series_description;
  PatientPosition patient_position = PatientPosition::kHfs;
  std::string laterality, performing_physician_name, operators_name;
  jobs::PhaseCycle phase_cycle = jobs::PhaseCycle::kUnknown;  // of the frames' phases
  jobs::Equipment equipment;
  std::string protocol, station_name, request_id;
  /// The job's id, where another node began it; empty: a new one.
  std::string continues_job_id;
  /// Who sends it, as Job::begun_by; not kept with the frames, but with the job.
  std::string caller;
  /// The W3C traceparent that came with it, unchecked; not kept with the frames, but with the job.
  std::string trace_parent;
  jobs::JobClass job_class = jobs::JobClass::kLive;
  absl::Duration deadline = absl::InfiniteDuration();  // after acceptance
  double frame_rate_hz = 0;                            // 0: unknown
  /// What its header says and hardly means, for whoever exposes; not kept.
  std::vector<std::string> implausible;
  std::string pair_id;
  jobs::PairRole pair_role = jobs::PairRole::kNone;
  /// Its calibration is unset until there is a job; a run gets it when it is made.
  recon::Acquisition acquisition;
  std::string detector_mode;
  jobs::CalibrationPolicy calibration_policy = jobs::CalibrationPolicy::kNone;
  std::string calibration_name;  // empty: that which fits
  /// None is chosen, whatever the protocol asks for: the node that began the job had none.
  bool is_without_calibration = false;
  /// That which was chosen at admission.
  std::optional<jobs::UsedCalibration> calibration;
  /// The set that the trajectory is of. Unset: the console sent it.
  std::optional<jobs::UsedCalibration> geometry;
  recon::FdkSettings settings;
  jobs::MissingFrames missing_frames;
  jobs::DicomForms dicom_forms;
  /// What the server does with the frames once the volume is stored.
  std::optional<RefinementRequest> refinement;
  std::variant<AutoGridSize, VolumeGrid> grid;
  bool names_grid = false;  // `grid` is what the console says, not the protocol
  /// This request as it is kept with the frames, for a RequestDecoder.
  std::string record;
};

/// What a console says that goes on with a job.
struct ResumeRequest {
  std::string job_id;
  std::string caller;  // as AcquisitionRequest::caller
  /// What the console sends, as it says, without the settings of a protocol. Unset: it does not
  /// say, as consoles of before the field did.
  std::optional<AcquisitionRequest> acquisition;
};

/// One frame as it arrives.
struct Frame {
  uint32_t index = 0;
  std::vector<std::span<const std::byte>> pixels;  // [v][u], little-endian, in pieces
  std::shared_ptr<const void> memory;              // of the pieces
  std::optional<uint32_t> crc32c;
  std::optional<ProjectionMatrix> measured_matrix;  // any scale
  float dose = 0;                                   // 0: not told
  std::optional<float> phase;                       // of a moving organ; unset: not told
};

}  // namespace isocenter::pipeline
