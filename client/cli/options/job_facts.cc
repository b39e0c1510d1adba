#include "client/cli/options/job_facts.h"

#include "kernels/quality/conditions.h"

namespace isocenter::cli {

const std::string& FramesJob(const v1::Job& job) {
  return job.refines_job_id().empty() ? job.job_id() : job.refines_job_id();
}

formats::VolumeFacts JobFacts(const v1::Job& job) {
  return {
      .unit = "HU",
      .protocol = job.protocol(),
      .calibration = job.has_calibration() ? job.calibration().name() : quality::kUncorrectedScan};
}

}  // namespace isocenter::cli
