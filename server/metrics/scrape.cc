#include "server/metrics/scrape.h"

#include <string>

namespace isocenter::metrics {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;

prometheus::MetricFamily GaugeFamily(const char* name, const char* help) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  return family;
}

void AddSample(prometheus::MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric& sample = family.metric.emplace_back();
  sample.label = std::move(labels);
  sample.gauge.value = value;
}

}  // namespace

std::vector<prometheus::MetricFamily> Scrape::Collect() const {
  prometheus::MetricFamily jobs =
      GaugeFamily("isocenter_jobs", "Jobs that the service knows, by state.");
  const std::map<jobs::JobState, int> counts = sources_.jobs_by_state();
  for (int state = 0; state <= static_cast<int>(jobs::JobState::kCancelled); ++state) {
    const auto found = counts.find(static_cast<jobs::JobState>(state));
    AddSample(jobs, {{"state", std::string(jobs::Name(static_cast<jobs::JobState>(state)))}},
              found == counts.end() ? 0 : found->second);
  }
  prometheus::MetricFamily queue =
      GaugeFamily("isocenter_queue_depth", "Chunks that wait for a device.");
  AddSample(queue, {}, static_cast<double>(sources_.queue_depth()));

  prometheus::MetricFamily memory = GaugeFamily(
      "isocenter_device_memory_bytes", "Memory that jobs may take and have been promised.");
  for (const DeviceMemory& device : sources_.device_memory()) {
    AddSample(memory, {{"device", device.device}, {"kind", "limit"}},
              static_cast<double>(device.limit));
    AddSample(memory, {{"device", device.device}, {"kind", "used"}},
              static_cast<double>(device.used));
  }
  return {std::move(jobs), std::move(queue), std::move(memory)};
}

}  // namespace isocenter::metrics
