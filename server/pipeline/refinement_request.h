// What is to become of frames after their FDK volume, after translation from the wire.
#pragma once

#include <string>
#include <variant>

#include "absl/time/time.h"
#include "kernels/recon/any_refinement.h"
#include "server/jobs/job.h"

namespace isocenter::pipeline {

struct RefinementRequest {
  std::string protocol;
  recon::FdkSettings fdk;  // of the volume that it begins with
  recon::RefinementSettings settings;
  absl::Duration deadline = absl::InfiniteDuration();  // after acceptance
  jobs::JobClass job_class = jobs::JobClass::kInteractive;
  jobs::DicomForms dicom_forms;
  /// Of a volume of one phase that is one of so many at equal distances; 0: of that phase alone.
  int of_phases = 0;
  /// Of a self-calibration, beside whose frames the volume of this job is held; empty: none.
  /// ResolveReference puts its grid into the settings.
  std::string reference_job_id;
  bool patient_ids_agree = false;  // both jobs tell one, and it is the same
  std::string request_id;
  /// This request as it is kept with its job, for a RefinementDecoder.
  std::string record;
};

/// Whether it takes off scatter that is computed, in place of that of the set's kernels.
inline bool ComputesScatter(const RefinementRequest& request) {
  const auto* const second = std::get_if<recon::SecondPassSettings>(&request.settings);
  return second != nullptr && second->scatter;
}

/// Of what it needs of a calibration, the first that one with these parts lacks: "bone table" or
/// "scatter model"; empty: nothing.
inline std::string MissingPart(const RefinementRequest& request, bool has_bone,
                               bool has_scatter_model) {
  const auto* const second = std::get_if<recon::SecondPassSettings>(&request.settings);
  if (second == nullptr) return "";
  if (second->bone && !has_bone) return "bone table";
  return second->scatter && !has_scatter_model ? "scatter model" : "";
}

}  // namespace isocenter::pipeline
