#include "server/pipeline/reference_job.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/patient_position.h"
#include "kernels/recon/self_calibration/reference/reference_volume.h"
#include "server/jobs/private_error.h"

namespace isocenter::pipeline {

absl::Status CheckReferenceJob(const jobs::Job& source, const jobs::Job& reference) {
  const auto is_source = [&](const std::string& id) { return id == source.id; };
  if (reference.id == source.id || std::ranges::any_of(reference.source_job_ids, is_source)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "reference_job_id is '", reference.id, "', whose volume is of the frames of job '",
        source.id, "' itself; legal is a job of another acquisition"));
  }
  if (reference.state != jobs::JobState::kCompleted) {
    return absl::FailedPreconditionError(
        absl::StrCat("reference_job_id is '", reference.id, "', which is ",
                     std::string(jobs::Name(reference.state)), "; legal is a completed job"));
  }
  if (reference.pair_role == jobs::PairRole::kSubtraction) {
    return absl::FailedPreconditionError(
        absl::StrCat("reference_job_id is '", reference.id,
                     "', a difference of two volumes; legal is a volume of the patient"));
  }
  const std::string& id = source.patient_study.patient_id;
  const std::string& other = reference.patient_study.patient_id;
  if (id.empty() || other.empty() || id == other) return absl::OkStatus();
  return jobs::MarkPrivate(absl::FailedPreconditionError(absl::StrCat(
      "reference_job_id is '", reference.id, "', of the patient '", other, "'; job '", source.id,
      "' is of the patient '", id, "'; legal is a job of the same patient")));
}

absl::Status ResolveReference(const jobs::JobTable& table, const jobs::Job& refined,
                              RefinementRequest& request) {
  if (request.reference_job_id.empty()) return absl::OkStatus();
  const absl::StatusOr<jobs::JobSnapshot> found = table.Get(request.reference_job_id);
  if (!found.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job '", request.reference_job_id,
                     "', the reference of this self-calibration, does not exist any more"));
  }
  const jobs::Job& reference = **found;
  auto& settings = std::get<recon::SecondPassSettings>(request.settings);
  settings.reference = WorldGrid(PatientGrid(reference.grid, reference.facts.patient_position),
                                 refined.facts.patient_position);
  request.patient_ids_agree =
      !refined.patient_study.patient_id.empty() && !reference.patient_study.patient_id.empty();
  constexpr double kAnyVoxelMm = 1;
  return recon::ReferenceMaker::Create(*settings.reference, request.fdk.mu_water_per_mm,
                                       kAnyVoxelMm)
      .status();
}

}  // namespace isocenter::pipeline
