// Descriptions of projections for the tensor memory accelerator (compute capability 9.0 and later),
// which copies tiles of them into shared memory by itself.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace isocenter::cuda {

/// A stack of views with elements of 4 bytes, [view][row][column], in device memory.
struct TiledViews {
  const void* data;  // 16-byte aligned
  int views, rows, columns;
  int64_t pitch;  // elements from row to row, a multiple of 4
};

/// The least pitch.
inline int64_t TilePitch(int64_t columns) { return (columns + 3) / 4 * 4; }

/// Tiles of one width and of four heights. A tile may lie anywhere; beyond the views it holds
/// zeros. Its first column is a multiple of 4.
struct TileMaps {
  static constexpr int kHeights = 4;
  CUtensorMap of_height[kHeights];  // from the least
};

/// Heights from `rows` down in steps of `step`. Errors: INTERNAL (the driver's refusal).
absl::StatusOr<TileMaps> MakeTileMaps(const TiledViews& views, int columns, int rows, int step);

/// Whether the calling thread's device copies tiles.
absl::StatusOr<bool> CopiesTiles();

}  // namespace isocenter::cuda
