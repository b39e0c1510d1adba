// What is to become of frames after their FDK volume, after translation from the wire.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "kernels/recon/iterative/settings.h"
#include "kernels/recon/plan.h"
#include "server/jobs/job.h"

namespace isocenter::pipeline {

struct RefinementRequest {
  std::string protocol;
  recon::FdkSettings fdk;  // of the volume that it begins with
  recon::IterativeSettings settings;
  absl::Duration deadline = absl::InfiniteDuration();  // after acceptance
  jobs::JobClass job_class = jobs::JobClass::kInteractive;
  jobs::DicomForms dicom_forms;
  std::string request_id;
  /// This request as it is kept with its job, for a RefinementDecoder.
  std::string record;
};

}  // namespace isocenter::pipeline
