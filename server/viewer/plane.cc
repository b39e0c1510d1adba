#include "server/viewer/plane.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace isocenter::viewer {

Plane MakePlane(const Extent& extent, Axis axis) {
  Plane plane{.columns = axis == Axis::kSagittal ? extent.ny : extent.nx,
              .rows = axis == Axis::kAxial ? extent.ny : extent.nz};
  plane.hounsfield.resize(static_cast<size_t>(plane.columns) * plane.rows);
  return plane;
}

absl::Status CheckIndex(const Extent& extent, Axis axis, int index) {
  const int count = axis == Axis::kAxial     ? extent.nz
                    : axis == Axis::kCoronal ? extent.ny
                                             : extent.nx;
  if (index >= 0 && index < count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("index is ", index, "; legal is 0 to ", count - 1));
}

std::vector<Extent> LevelsOf(const Extent& extent) {
  constexpr int kCoarsest = 128;
  std::vector<Extent> levels = {extent};
  while (std::max({levels.back().nx, levels.back().ny, levels.back().nz}) > kCoarsest) {
    const Extent& last = levels.back();
    levels.push_back({(last.nx + 1) / 2, (last.ny + 1) / 2, (last.nz + 1) / 2});
  }
  return levels;
}

}  // namespace isocenter::viewer
