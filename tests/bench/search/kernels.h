// Times kernel B of Zinsser & Keck (2013) over its parameters on a CUDA device.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::bench {

struct SearchRow {
  int views, depth;             // per launch and per thread: the paper's I and K
  int block_x, block_y;         // threads: B_x and B_y
  int registers;                // per thread
  double occupancy;             // threads that a multiprocessor holds, of those it could
  std::vector<double> seconds;  // kernels only, all views; one per repeat
};

struct SearchTable {
  std::string device;
  std::vector<SearchRow> rows;
};

/// Back-projects noise. `detector`: views, rows, columns, at most 2048 views. Takes twice the
/// projections and the volume in device memory. Errors: UNAVAILABLE (no device), RESOURCE_EXHAUSTED
/// (device memory).
absl::StatusOr<SearchTable> MeasureSearch(const Trajectory& matrices, Shape3 detector,
                                          const VolumeGrid& grid, int repeats);

}  // namespace isocenter::bench
