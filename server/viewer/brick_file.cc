#include "server/viewer/brick_file.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/viewer/brick_layout.h"

namespace isocenter::viewer {
namespace {

constexpr int kEdge = BrickFile::kEdge;

}  // namespace

int64_t BrickFile::BytesOf(const Extent& extent) {
  int64_t bricks = 0;
  for (const Extent& level : LevelsOf(extent)) bricks += BricksOf(level);
  return bricks * kBrickBytes;
}

absl::StatusOr<Plane> BrickFile::ReadPlane(int level, Axis axis, int index) const {
  const int count = static_cast<int>(levels_.size());
  if (level < 0 || level >= count) {
    return absl::InvalidArgumentError(
        absl::StrCat("level is ", level, "; legal is 0 to ", count - 1));
  }
  const Extent& extent = levels_[level];
  ISO_RETURN_IF_ERROR(CheckIndex(extent, axis, index));
  Plane plane = MakePlane(extent, axis);

  // Bricks along columns and rows of the plane, and of each the voxels (column, row) that it gives:
  // `step` and `stride` are distances between them in the brick.
  const int fixed_brick = index / kEdge, fixed = index % kEdge;
  const int step = axis == Axis::kSagittal ? kEdge : 1;
  const int stride = axis == Axis::kAxial ? kEdge : kEdge * kEdge;
  const int first = fixed * (axis == Axis::kAxial     ? kEdge * kEdge
                             : axis == Axis::kCoronal ? kEdge
                                                      : 1);
  // An axial plane is in one piece within each brick.
  const int skipped = axis == Axis::kAxial ? first : 0;
  std::vector<int16_t> brick(axis == Axis::kAxial ? kEdge * kEdge : kEdge * kEdge * kEdge);
  for (int br = 0; br < BricksAlong(plane.rows); ++br) {
    for (int bc = 0; bc < BricksAlong(plane.columns); ++bc) {
      const int64_t offset = axis == Axis::kAxial ? BrickOffset(levels_, level, bc, br, fixed_brick)
                             : axis == Axis::kCoronal
                                 ? BrickOffset(levels_, level, bc, fixed_brick, br)
                                 : BrickOffset(levels_, level, fixed_brick, bc, br);
      ISO_RETURN_IF_ERROR(
          file_.ReadAt(offset + 2 * int64_t{skipped}, std::as_writable_bytes(std::span(brick))));
      const int rows = std::min(kEdge, plane.rows - br * kEdge);
      const int columns = std::min(kEdge, plane.columns - bc * kEdge);
      for (int row = 0; row < rows; ++row) {
        const int16_t* from = brick.data() + first - skipped + row * stride;
        int16_t* to = plane.hounsfield.data() +
                      (static_cast<size_t>(br * kEdge + row) * plane.columns + bc * kEdge);
        for (int column = 0; column < columns; ++column) to[column] = from[column * step];
      }
    }
  }
  return plane;
}

}  // namespace isocenter::viewer
