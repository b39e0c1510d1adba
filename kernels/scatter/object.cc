#include "kernels/scatter/object.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace isocenter::scatter {

Object::Object(const VolumeGrid& grid, std::vector<Cell> cells)
    : counts_{grid.nx, grid.ny, grid.nz},
      low_{grid.origin.x - grid.spacing.x / 2, grid.origin.y - grid.spacing.y / 2,
           grid.origin.z - grid.spacing.z / 2},
      spacing_{grid.spacing.x, grid.spacing.y, grid.spacing.z},
      cells_(std::move(cells)) {
  assert(cells_.size() == static_cast<size_t>(grid.voxels()));
  empty_ = std::none_of(cells_.begin(), cells_.end(),
                        [](const Cell& cell) { return cell[0] > 0 || cell[1] > 0; });
}

PerTissue Object::At(Vec3 point) const {
  const double p[] = {point.x, point.y, point.z};
  int64_t index[3];
  for (int a = 0; a < 3; ++a) {
    const double cell = std::floor((p[a] - low_[a]) / spacing_[a]);
    index[a] = static_cast<int64_t>(std::clamp(cell, 0.0, counts_[a] - 1.0));
  }
  const Cell& cell = cells_[(index[2] * counts_[1] + index[1]) * counts_[0] + index[0]];
  return {cell[0], cell[1]};
}

// After Amanatides, Woo, Eurographics 1987: the next border is the nearest of three.
template <typename Piece>
void Object::Walk(Vec3 origin, Vec3 direction, const Piece& piece) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double o[] = {origin.x, origin.y, origin.z}, d[] = {direction.x, direction.y, direction.z};
  double at = 0, end = kNever;
  for (int a = 0; a < 3; ++a) {
    const double high = low_[a] + counts_[a] * spacing_[a];
    if (d[a] == 0) {
      if (o[a] < low_[a] || o[a] >= high) return;
      continue;
    }
    const double r = (low_[a] - o[a]) / d[a], s = (high - o[a]) / d[a];
    at = std::max(at, std::min(r, s));
    end = std::min(end, std::max(r, s));
  }
  if (!(end > at)) return;
  const int64_t stride[] = {1, counts_[0], int64_t{counts_[0]} * counts_[1]};
  int left[3];  // cells before the border on the way
  double next[3], step[3];
  int64_t cell = 0;
  for (int a = 0; a < 3; ++a) {
    const double position = (o[a] + at * d[a] - low_[a]) / spacing_[a];
    const int index = std::clamp(static_cast<int>(position), 0, counts_[a] - 1);
    cell += index * stride[a];
    left[a] = d[a] > 0 ? counts_[a] - 1 - index : index;
    step[a] = d[a] == 0 ? kNever : spacing_[a] / std::abs(d[a]);
    const double border = low_[a] + (index + (d[a] > 0 ? 1 : 0)) * spacing_[a];
    next[a] = d[a] == 0 ? kNever : (border - o[a]) / d[a];
  }
  while (true) {
    const int a = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2) : (next[1] < next[2] ? 1 : 2);
    const double border = std::max(at, next[a]);
    if (border > at && !piece(at, border, cells_[cell])) return;
    if (left[a]-- == 0) return;
    at = border;
    next[a] += step[a];
    cell += d[a] > 0 ? stride[a] : -stride[a];
  }
}

PerTissue Object::Along(Vec3 origin, Vec3 direction) const {
  PerTissue sum{};
  Walk(origin, direction, [&](double begin, double end, const Cell& cell) {
    const double cm = 0.1 * (end - begin);
    sum[0] += cm * cell[0];
    sum[1] += cm * cell[1];
    return true;
  });
  return sum;
}

double Object::DistanceTo(Vec3 origin, Vec3 direction, const PerTissue& attenuation,
                          double depth) const {
  double left = depth, distance = std::numeric_limits<double>::infinity();
  Walk(origin, direction, [&](double begin, double end, const Cell& cell) {
    const double per_mm = 0.1 * (attenuation[0] * cell[0] + attenuation[1] * cell[1]);
    const double here = per_mm * (end - begin);
    if (here < left) {
      left -= here;
      return true;
    }
    distance = begin + left / per_mm;
    return false;
  });
  return distance;
}

}  // namespace isocenter::scatter
