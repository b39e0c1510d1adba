// Metrics that are read from the service when Prometheus asks.
#pragma once

#include <utility>
#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/metrics/metrics.h"

namespace isocenter::metrics {

class Scrape : public prometheus::Collectable {
 public:
  explicit Scrape(Sources sources) : sources_(std::move(sources)) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Sources sources_;
};

}  // namespace isocenter::metrics
