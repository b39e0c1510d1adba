// How the adjoint of forward projection lays its bilinear cells out in memory.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/ray_view.h"

namespace isocenter::cpu {

/// The adjoint accumulates in cells: for each square of four voxels of a plane four numbers in a
/// row in memory, one per corner (lower and upper along b, for the lower, then for the upper index
/// along c), so that a ray adds to its four voxels at once.
inline constexpr int kCellFloats = 4;
inline constexpr int64_t kMaxCells = 48 << 10;            // of one thread: most of a second cache
inline constexpr int64_t kCellMargin = 16 * kCellFloats;  // floats, read behind the last cell
inline constexpr int kScatterPlanes = 32;                 // of one job

/// Pixels [first_u, last_u) x [first_v, last_v) of a view.
struct DetectorTile {
  int first_u, last_u, first_v, last_v;
};

/// The cells of one plane: cells_b x cells_c of them, the first with voxel (first_b, first_c) as
/// its lower corner. Rows along c are row_cells apart, with an empty cell before and after each.
struct CellPlane {
  int first_b, first_c, cells_b, cells_c, row_cells;
  int64_t first_cell;
};

/// What to do with the next planes of a tile.
struct CellTile {
  enum class Action { kCells, kDirect, kUnseen };
  Action action;
  PlaneRun planes;                              // the first ones of those that were asked for
  std::array<CellPlane, kScatterPlanes> boxes;  // of each plane, for kCells
  int64_t cells;                                // of all
};

/// The first of `planes`, at least one: those that the tile's rays miss (kUnseen), or whose cells
/// alone are more than kMaxCells (kDirect), or as many as have room together (kCells). All rays of
/// the tile have one heading along axes.a; `slabs`: they see what is in the planes' slabs, not only
/// in the planes. At most kScatterPlanes planes.
CellTile NextPlanes(const RayView& view, const VolumeShape& volume, RayAxes axes,
                    const DetectorTile& tile, const PlaneRun& planes, bool slabs);

}  // namespace isocenter::cpu
