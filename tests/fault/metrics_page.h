// What the server tells Prometheus.
#pragma once

#include <optional>
#include <string>

namespace isocenter::testing {

/// The value of a sample, e.g. `isocenter_spool_bytes{kind="used"}`; nothing when the page cannot
/// be read or lacks it.
std::optional<double> Metric(int metrics_port, const std::string& sample);

}  // namespace isocenter::testing
