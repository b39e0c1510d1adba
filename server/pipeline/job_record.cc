#include "server/pipeline/job_record.h"

#include "server/base/log.h"

namespace isocenter::pipeline {

using jobs::Job;

void LogUnsaved(const std::string& id, const absl::Status& saved) {
  if (!saved.ok()) spdlog::error("event=save_failed job={} error=\"{}\"", id, saved.ToString());
}

void ReportWarning(const std::string& id, const jobs::JobWarning& warning,
                   jobs::JobObserver& observer) {
  observer.OnWarning(warning.kind);
  spdlog::warn("event=job_warning job={} kind={} text=\"{}\"", id,
               std::string(jobs::Name(warning.kind)), warning.text);
}

void PublishWarning(const std::string& id, const jobs::JobWarning& warning, jobs::JobTable& table,
                    jobs::JobObserver& observer) {
  ReportWarning(id, warning, observer);
  table.Update(id, [&](Job& job) {
    if (job.warnings.size() >= Job::kMostWarnings) return;
    job.result.warnings.push_back(warning.text);
    job.warnings.push_back(warning);
  });
}

void LogFinding(const std::string& id, const std::string& finding) {
  spdlog::info("event=job_finding job={} text=\"{}\"", id, finding);
}

void RecordStages(const recon::StageSeconds& seconds, jobs::StageTimings& timings) {
  timings.upload = seconds.upload;
  timings.download = seconds.download;
  timings.preprocess = seconds.preprocess;
  timings.filter = seconds.filter;
  timings.backproject = seconds.backproject;
  timings.hounsfield = seconds.hounsfield;
}

void SaveTrace(const std::string& id, const std::vector<recon::DeviceSpan>& trace,
               const std::string& plan, jobs::JobTable& table) {
  const absl::Time began = trace.empty() ? absl::InfinitePast() : recon::BeginOf(trace);
  const absl::Status saved = table.SaveTrace(id, recon::ChromeTrace(trace, plan, began));
  if (!saved.ok()) spdlog::warn("event=trace_lost job={} error=\"{}\"", id, saved.ToString());
}

}  // namespace isocenter::pipeline
