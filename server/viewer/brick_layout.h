// Where the bricks of a level are.
#pragma once

#include <cstdint>
#include <vector>

#include "server/viewer/brick_file.h"
#include "server/viewer/plane.h"

namespace isocenter::viewer {

constexpr int BricksAlong(int voxels) { return (voxels + BrickFile::kEdge - 1) / BrickFile::kEdge; }

inline int64_t BricksOf(const Extent& extent) {
  return int64_t{BricksAlong(extent.nx)} * BricksAlong(extent.ny) * BricksAlong(extent.nz);
}

/// Offset in bytes of a brick, by its position among those of a level.
inline int64_t BrickOffset(const std::vector<Extent>& levels, int level, int bx, int by, int bz) {
  int64_t before = 0;
  for (int i = 0; i < level; ++i) before += BricksOf(levels[i]);
  const Extent& extent = levels[level];
  const int64_t within = (int64_t{bz} * BricksAlong(extent.ny) + by) * BricksAlong(extent.nx) + bx;
  return (before + within) * BrickFile::kBrickBytes;
}

}  // namespace isocenter::viewer
