// Metrics that are read from the service when Prometheus asks.
#pragma once

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/metrics/metrics.h"

namespace isocenter::metrics {

class Scrape : public prometheus::Collectable {
 public:
  explicit Scrape(Sources sources)
      : sources_(std::move(sources)),
        start_unix_seconds_(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch())) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Sources sources_;
  const double start_unix_seconds_;
};

}  // namespace isocenter::metrics
