#include "server/pipeline/identity/same_acquisition.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "server/jobs/private_error.h"
#include "server/pipeline/facts.h"
#include "server/pipeline/orders/order_match.h"
#include "server/pipeline/pair.h"

namespace isocenter::pipeline {
namespace {

/// Enough to tell two trajectories of one console apart, for people.
constexpr size_t kShownHash = 12;

/// What differs, as clauses of one sentence.
class Differences {
 public:
  void Add(absl::string_view field, absl::string_view header, absl::string_view job) {
    clauses_.push_back(absl::StrCat(field, " is ", header, ", the job's is ", job));
  }
  void Compare(absl::string_view field, absl::string_view header, absl::string_view job) {
    if (header != job) Add(field, Quoted(header), Quoted(job));
  }
  void Compare(absl::string_view field, double header, double job) {
    if (header == job) return;
    // Digits enough to tell them apart.
    const auto text = [](double value) { return absl::StrFormat("%.12g", value); };
    Add(field, text(header), text(job));
  }
  /// Of fields that may identify a patient.
  void AddPrivate(absl::string_view field, absl::string_view header, absl::string_view job) {
    private_ = true;
    Add(absl::StrCat("patient_study.", field), Quoted(header), Quoted(job));
  }
  void ComparePrivate(absl::string_view field, absl::string_view header, absl::string_view job) {
    if (header != job) AddPrivate(field, header, job);
  }

  absl::Status AsStatus() const {
    if (clauses_.empty()) return absl::OkStatus();
    const absl::Status status = absl::InvalidArgumentError(absl::StrJoin(clauses_, "; "));
    return private_ ? jobs::MarkPrivate(status) : status;
  }

 private:
  static std::string Quoted(absl::string_view text) { return absl::StrCat("'", text, "'"); }

  std::vector<std::string> clauses_;
  bool private_ = false;
};

std::string Frames(int columns, int rows, int bits) {
  return absl::StrCat(columns, "x", rows, " pixels of ", bits, " bits");
}

std::string Text(const VolumeGrid& grid) {
  return absl::StrFormat("%dx%dx%d voxels of %.6g x %.6g x %.6g mm from (%.6g, %.6g, %.6g)",
                         grid.nx, grid.ny, grid.nz, grid.spacing.x, grid.spacing.y, grid.spacing.z,
                         grid.origin.x, grid.origin.y, grid.origin.z);
}

/// What makes another volume of the same frames.
void CompareImage(const jobs::Job& job, const AcquisitionRequest& request,
                  Differences& differences) {
  const jobs::AcquisitionFacts& facts = job.facts;
  const recon::Acquisition& repeated = request.acquisition;
  differences.Compare("detector.pitch_u_mm", repeated.detector.pitch_u_mm,
                      facts.detector_column_spacing_mm);
  differences.Compare("detector.pitch_v_mm", repeated.detector.pitch_v_mm,
                      facts.detector_row_spacing_mm);
  if (facts.i0_counts && repeated.pixel_type == recon::PixelType::kUint16Counts) {
    differences.Compare("i0_counts", repeated.i0_counts, *facts.i0_counts);
  }
  // Either may leave it open.
  if (request.tube_voltage_kv > 0 && facts.tube_voltage_kv > 0) {
    differences.Compare("tube_voltage_kv", request.tube_voltage_kv, facts.tube_voltage_kv);
  }
  const auto* grid = std::get_if<VolumeGrid>(&request.grid);
  if (request.grid_is_headers && grid != nullptr && *grid != job.grid) {
    differences.Add("grid", Text(*grid), Text(job.grid));
  }
}

void CompareFrames(const jobs::AcquisitionFacts& facts, const AcquisitionRequest& request,
                   Differences& differences) {
  const recon::Acquisition& repeated = request.acquisition;
  const std::string frames = Frames(repeated.detector.columns, repeated.detector.rows,
                                    8 * static_cast<int>(recon::PixelBytes(repeated.pixel_type)));
  const std::string of_job =
      Frames(facts.detector_columns, facts.detector_rows, facts.detector_bits);
  if (frames != of_job) differences.Add("detector", frames, of_job);
  const int count = static_cast<int>(repeated.trajectory.size());
  if (count != facts.frames) {
    // Then the trajectories differ as well, which says nothing more.
    return differences.Add("frame_count", absl::StrCat(count), absl::StrCat(facts.frames));
  }
  // What the console leaves to the service is what the service chose when the job began.
  if (facts.geometry && request.geometry) return;
  const std::string hash = TrajectoryHash(repeated.trajectory);
  if (hash == facts.trajectory_hash) return;
  differences.Add("the planned trajectory",
                  absl::StrCat("that of checksum ", hash.substr(0, kShownHash)),
                  absl::StrCat("that of ", facts.trajectory_hash.substr(0, kShownHash)));
}

void CompareIdentity(const jobs::Job& job, const jobs::PatientStudy& repeated,
                     Differences& differences) {
  const jobs::PatientStudy& known = job.patient_study;
  differences.ComparePrivate("patient_id", repeated.patient_id, HeaderPatientId(job));
  if (NamesContradict(repeated, known)) {
    differences.AddPrivate("patient_name", repeated.patient_name, known.patient_name);
  }
  differences.ComparePrivate("accession_number", repeated.accession_number,
                             HeaderAccessionNumber(job));
  if (!repeated.study_instance_uid.empty() && !known.study_instance_uid.empty()) {
    differences.ComparePrivate("study_instance_uid", repeated.study_instance_uid,
                               known.study_instance_uid);
  }
}

}  // namespace

absl::Status CheckSameAcquisition(const jobs::Job& job, const AcquisitionRequest& repeated) {
  Differences differences;
  CompareIdentity(job, repeated.patient_study, differences);
  differences.Compare("patient_position", Name(repeated.patient_position),
                      Name(job.facts.patient_position));
  CompareFrames(job.facts, repeated, differences);
  CompareImage(job, repeated, differences);
  if (!repeated.calibration_name.empty()) {
    differences.Compare("calibration", repeated.calibration_name,
                        job.facts.calibration ? job.facts.calibration->name : "");
  }
  if (repeated.geometry && !repeated.geometry->name.empty()) {
    differences.Compare("geometry", repeated.geometry->name,
                        job.facts.geometry ? job.facts.geometry->name : "");
  }
  if (!repeated.protocol.empty()) {
    differences.Compare("protocol", repeated.protocol, job.protocol);
  }
  return differences.AsStatus();
}

absl::Status CheckSameCaller(const jobs::Job& job, const std::string& caller) {
  if (caller.empty() || job.begun_by.empty() || caller == job.begun_by) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("job '", job.id,
                                                  "' was begun by another caller than '", caller,
                                                  "'; only who began it may go on with it"));
}

}  // namespace isocenter::pipeline
