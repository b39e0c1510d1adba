// Times the published back-projection kernels and their modified forms on a CUDA device.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::bench {

/// The forms of a kernel in the order of Zinsser & Keck's table II. I|-|- does neither sample nor
/// touch the volume, I|M|- does not sample, I|M|T is the kernel itself on a volume so small that
/// all samples come from the same pixels, the last the kernel on the volume that was asked for.
inline constexpr int kForms = 4;

/// A row of the table.
struct BottleneckRow {
  char kernel;  // 'A' or 'B'
  bool synchronized;
  int views, depth;      // views per launch, voxels per thread: I and K
  int block_x, block_y;  // threads
  int registers;         // of the kernel itself, per thread
  double occupancy;      // threads that a multiprocessor holds, of those it could
  /// Blocks per multiprocessor, for each form; the modified ones are held to that of the kernel.
  std::array<int, kForms> resident_blocks;
  std::array<std::vector<double>, kForms> seconds;  // kernels only, all views; one per repeat
};

struct BottleneckTable {
  std::string device;
  int multiprocessors;
  double clock_ghz;  // highest
  std::vector<BottleneckRow> rows;
};

/// Back-projects noise. `detector`: views, rows, columns, at most 2048 views. Takes twice the
/// projections and the volume in device memory. Errors: UNAVAILABLE (no device), RESOURCE_EXHAUSTED
/// (device memory).
absl::StatusOr<BottleneckTable> MeasureBottleneck(const Trajectory& matrices, Shape3 detector,
                                                  const VolumeGrid& grid, int repeats);

}  // namespace isocenter::bench
