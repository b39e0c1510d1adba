// What reconstructions and refinements say of themselves in the table of jobs and in the log.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/recon/trace.h"
#include "server/jobs/job.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"

namespace isocenter::pipeline {

/// A job goes on although its record could not be stored.
void LogUnsaved(const std::string& id, const absl::Status& saved);

/// Into log and metrics, of a warning that a job's first record has already.
void ReportWarning(const std::string& id, const jobs::JobWarning& warning,
                   jobs::JobObserver& observer);

/// A warning of a job, to the observer, the log and the table: its first Job::kMostWarnings.
void PublishWarning(const std::string& id, const jobs::JobWarning& warning, jobs::JobTable& table,
                    jobs::JobObserver& observer);

/// What a refinement found out, for people who read the log.
void LogFinding(const std::string& id, const std::string& finding);

/// What the stages took, of those that a reconstruction has.
void RecordStages(const recon::StageSeconds& seconds, jobs::StageTimings& timings);

/// With the text of the run's plan. Nobody's volume should fail because of its trace.
void SaveTrace(const std::string& id, const std::vector<recon::DeviceSpan>& trace,
               const std::string& plan, jobs::JobTable& table);

}  // namespace isocenter::pipeline
