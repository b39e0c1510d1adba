#include "server/pipeline/pair.h"

#include <limits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/pipeline/facts.h"

namespace isocenter::pipeline {
namespace {

using jobs::JobState;

bool Failed(const jobs::JobSnapshot& job) {
  return job == nullptr || job->state == JobState::kFailed || job->state == JobState::kCancelled;
}

bool IsSamePatient(const jobs::Job& job, const std::string& patient_id) {
  return patient_id == HeaderPatientId(job) || patient_id == job.patient_study.patient_id;
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

const std::string& HeaderPatientId(const jobs::Job& job) {
  return job.order.settled ? job.order.header_patient_id : job.patient_study.patient_id;
}

const std::string& HeaderAccessionNumber(const jobs::Job& job) {
  return job.order.settled ? job.order.header_accession_number : job.patient_study.accession_number;
}

absl::StatusOr<bool> JoinPair(const jobs::JobTable& table, AcquisitionRequest& request) {
  const Pair pair = FindPair(table, request.pair_id);
  const bool is_mask = request.pair_role == jobs::PairRole::kMask;
  const jobs::JobSnapshot& same = is_mask ? pair.mask : pair.fill;
  const jobs::JobSnapshot& other = is_mask ? pair.fill : pair.mask;
  const auto illegal = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("pair.pair_id is '", request.pair_id, "', ", what));
  };
  if (!Failed(same)) {
    return illegal(absl::StrCat("whose ", std::string(jobs::Name(request.pair_role)), " is job '",
                                same->id, "' already; legal is an id that was never used"));
  }
  if (Failed(other)) return false;
  if (other->facts.trajectory_hash != TrajectoryHash(request.acquisition.trajectory)) {
    return illegal(absl::StrCat("but the planned trajectory is not that of job '", other->id,
                                "'; legal is the same trajectory for both halves"));
  }
  if (other->facts.patient_position != request.patient_position) {
    return illegal(absl::StrCat("but the patient of job '", other->id, "' lay ",
                                Name(other->facts.patient_position), ", not ",
                                Name(request.patient_position)));
  }
  if (!IsSamePatient(*other, request.patient_study.patient_id)) {
    return illegal(absl::StrCat("but job '", other->id, "' is of another patient"));
  }
  const std::string& study = other->patient_study.study_instance_uid;
  if (request.patient_study.study_instance_uid.empty()) {
    request.patient_study.study_instance_uid = study;
  } else if (request.patient_study.study_instance_uid != study) {
    return illegal(absl::StrCat("but job '", other->id, "' is of another study; legal is ", study));
  }
  if (const auto* grid = std::get_if<VolumeGrid>(&request.grid); grid && !(*grid == other->grid)) {
    return illegal(absl::StrCat("but the grid is not that of job '", other->id,
                                "'; legal is the same, or none"));
  }
  request.grid = other->grid;
  return true;
}

}  // namespace isocenter::pipeline
