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

std::string Axes(int nx, int ny, int nz) { return absl::StrCat(nx, "x", ny, "x", nz, " voxels"); }
std::string Axes(const Vec3& mm) {
  return absl::StrFormat("(%.9g, %.9g, %.9g) mm", mm.x, mm.y, mm.z);
}

/// Of a grid that the header gives: a protocol's may be another one by now.
void CompareGrids(const VolumeGrid& job, const VolumeGrid& repeated, Differences& differences) {
  if (repeated == job) return;
  const auto compare = [&](absl::string_view part, const std::string& header,
                           const std::string& of_job) {
    if (header == of_job) return false;
    differences.Add(part, header, of_job);
    return true;
  };
  const bool told =
      compare("grid", Axes(repeated.nx, repeated.ny, repeated.nz), Axes(job.nx, job.ny, job.nz)) ||
      compare("grid.spacing", Axes(repeated.spacing), Axes(job.spacing)) ||
      compare("grid.origin", Axes(repeated.origin), Axes(job.origin));
  if (!told) {
    differences.Add("grid.direction",
                    absl::StrCat("(", absl::StrJoin(repeated.direction, ", "), ")"),
                    absl::StrCat("(", absl::StrJoin(job.direction, ", "), ")"));
  }
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
  differences.Compare("tube_voltage_kv", request.tube_voltage_kv, facts.tube_voltage_kv);
  if (request.names_grid) {
    CompareGrids(job.grid, std::get<VolumeGrid>(request.grid), differences);
  }
}

std::string PairText(absl::string_view id, jobs::PairRole role) {
  return id.empty() ? "none" : absl::StrCat("'", id, "' as ", Name(role));
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
  if (repeated.pair_id != job.pair_id || repeated.pair_role != job.pair_role) {
    differences.Add("pair", PairText(repeated.pair_id, repeated.pair_role),
                    PairText(job.pair_id, job.pair_role));
  }
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
