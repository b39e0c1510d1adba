#include "server/metrics/station_metrics.h"

namespace isocenter::metrics {
namespace {

using prometheus::BuildCounter;

// Fewer than of the whole service: there is a histogram for each station.
const prometheus::Histogram::BucketBoundaries kSeconds = {0.02, 0.05, 0.1, 0.2, 0.5,
                                                          1,    2,    5,   10,  60};

}  // namespace

StationMetrics::StationMetrics(prometheus::Registry& registry)
    : jobs_(BuildCounter()
                .Name("isocenter_station_jobs_total")
                .Help("Acquisitions that have ended, by station and outcome.")
                .Register(registry)),
      frames_(BuildCounter()
                  .Name("isocenter_station_frames_total")
                  .Help("Frames of acquisitions that have ended, by station: received, lost.")
                  .Register(registry)),
      warnings_(BuildCounter()
                    .Name("isocenter_station_warnings_total")
                    .Help("Warnings of acquisitions that have ended, by station.")
                    .Register(registry)),
      after_last_frame_(
          prometheus::BuildHistogram()
              .Name("isocenter_station_after_last_frame_seconds")
              .Help("Last frame received to volume complete in host memory, by station.")
              .Register(registry)) {}

std::string StationMetrics::LabelOf(const std::string& station) {
  if (station.empty()) return "unnamed";
  absl::MutexLock lock(&mutex_);
  if (known_.contains(station)) return station;
  if (known_.size() >= kMostStations) return "other";
  known_.insert(station);
  return station;
}

void StationMetrics::OnJobEnded(const jobs::Job& job) {
  const std::string station = LabelOf(job.station_name);
  for (const jobs::JobState state :
       {jobs::JobState::kCompleted, jobs::JobState::kFailed, jobs::JobState::kCancelled}) {
    // Of a station all series exist, so that shares of them are right.
    jobs_.Add({{"station", station}, {"outcome", std::string(jobs::Name(state))}})
        .Increment(state == job.state ? 1 : 0);
  }
  frames_.Add({{"station", station}, {"kind", "received"}}).Increment(job.progress.frames_received);
  frames_.Add({{"station", station}, {"kind", "lost"}}).Increment(job.progress.frames_lost);
  warnings_.Add({{"station", station}}).Increment(static_cast<double>(job.warnings.size()));
  if (job.state == jobs::JobState::kCompleted) {
    after_last_frame_.Add({{"station", station}}, kSeconds)
        .Observe(job.result.seconds_after_last_frame);
  }
}

}  // namespace isocenter::metrics
