// Figures of repeated runs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace isocenter::bench {

struct Summary {
  double median = 0, least = 0, most = 0;
};
Summary Summarize(std::vector<double> values);
nlohmann::json ToJson(const Summary& summary);

/// Voxel updates per second of each time, in 1e9.
Summary Gups(const std::vector<double>& seconds, double updates);

}  // namespace isocenter::bench
