#include "server/daemon/scan_conditions.h"

#include "kernels/quality/conditions.h"
#include "proto/wire/quality_conditions.h"

namespace isocenter::daemon {
namespace {

/// Those of a refinement are of the frames that it refines.
const std::string& FramesJob(const jobs::Job& job) {
  return jobs::IsRefinement(job) && !job.source_job_ids.empty() ? job.source_job_ids.front()
                                                                : job.id;
}

std::string FilterOf(const jobs::Job& job) {
  const std::string& filter = job.facts.filter_description;
  if (!jobs::IsRefinement(job)) return filter;
  return job.refinement.algorithm + (filter.empty() ? "" : "; " + filter);
}

}  // namespace

v1::QualityConditions ConditionsOfJob(const jobs::JobTable& table, const std::string& job_id) {
  quality::Conditions conditions{.frames = quality::FramesOfJob(job_id)};
  const auto found = table.Get(job_id);
  if (!found.ok()) return wire::ToProto(conditions);
  const jobs::Job& job = **found;
  conditions.voxel_mm = job.grid.spacing;
  conditions.frames = quality::FramesOfJob(FramesJob(job));
  conditions.filter = FilterOf(job);
  conditions.calibration =
      job.facts.calibration ? job.facts.calibration->name : quality::kUncorrectedScan;
  conditions.tube_voltage_kv = job.facts.tube_voltage_kv;
  conditions.acquired = job.create_time;
  if (const auto source = table.Get(FramesJob(job)); source.ok()) {
    conditions.acquired = (*source)->create_time;
  }
  return wire::ToProto(conditions);
}

}  // namespace isocenter::daemon
