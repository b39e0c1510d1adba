// What is simulated of a scan's scatter.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::physics {

/// An anti-scatter grid before the detector, as shares that it lets through (above 0, up to 1).
/// Its lines and its focus are not modelled.
struct AntiScatterGrid {
  double primary = 1;  // of what comes straight from the source
  double scatter = 1;  // of the rest
};

/// In all views together.
inline constexpr int64_t kMostScatterReadings = 1 << 22;

struct ScatterSettings {
  int64_t photons_per_view = 1'000'000;  // 1000 to 1e9
  int views = 16;                        // 1 to 360
  int columns = 32, rows = 24;           // of the coarse grid; 2 to 256
  AntiScatterGrid grid;
};

/// Errors: INVALID_ARGUMENT with the field, its value and what is legal.
absl::Status ValidateScatterSettings(const ScatterSettings& settings);

/// The frames that stand for the views: evenly spread, the first and the last among them. `views`
/// is up to `frames`.
std::vector<int> ScatterFrames(int views, int frames);

}  // namespace isocenter::physics
