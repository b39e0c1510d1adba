#include "kernels/physics/scatter/volume.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "kernels/base/crc32c.h"

namespace isocenter::physics {
namespace {

constexpr double kLeastEdgeMm = 1e-3;  // of a box that is flat

std::array<double, 3> Components(Vec3 v) { return {v.x, v.y, v.z}; }

}  // namespace

ScatterVolume::ScatterVolume(const phantom::Phantom& object, double mu_water_per_mm,
                             const TissueMap& map, ThreadPool& pool)
    : box_(object.Bounds()) {
  std::array<double, 3> edges = Components(box_.high - box_.low);
  for (double& edge : edges) edge = std::max(edge, kLeastEdgeMm);
  const double cell = *std::max_element(edges.begin(), edges.end()) / kMostCells;
  for (int a = 0; a < 3; ++a) {
    counts_[a] = std::max(1, static_cast<int>(std::lround(edges[a] / cell)));
    cell_mm_[a] = edges[a] / counts_[a];
  }
  strides_ = {1, counts_[0] + 2, int64_t{counts_[0] + 2} * (counts_[1] + 2)};
  cells_.assign(strides_[2] * (counts_[2] + 2), ByMaterial{});
  pool.ParallelFor(counts_[2], [&](int64_t k, int) {
    FillLayer(object, mu_water_per_mm, map, static_cast<int>(k));
  });
  FindExtremes();
}

// Rounded up, so that mixtures of every kind do not make as many as there are cells.
void ScatterVolume::FindExtremes() {
  constexpr float kSteps = 64;
  const auto covers = [](ByMaterial a, ByMaterial b) {
    return phantom::LaneBits(a >= b) == (1 << kLanes) - 1;
  };
  for (const ByMaterial& cell : cells_) {
    if (std::any_of(extremes_.rbegin(), extremes_.rend(),
                    [&](ByMaterial extreme) { return covers(extreme, cell); })) {
      continue;
    }
    ByMaterial up;
    for (int m = 0; m < kLanes; ++m) up[m] = std::ceil(cell[m] * kSteps) / kSteps;
    std::erase_if(extremes_, [&](ByMaterial extreme) { return covers(up, extreme); });
    extremes_.push_back(up);
  }
}

void ScatterVolume::FillLayer(const phantom::Phantom& object, double mu_water_per_mm,
                              const TissueMap& map, int k) {
  constexpr double kPoints[] = {0.25, 0.75};
  for (int j = 0; j < counts_[1]; ++j) {
    for (int i = 0; i < counts_[0]; ++i) {
      ByMaterial& cell = cells_[Offset(i, j, k)];
      for (int point = 0; point < 8; ++point) {
        const Vec3 at = box_.low + Vec3{(i + kPoints[point & 1]) * cell_mm_[0],
                                        (j + kPoints[point >> 1 & 1]) * cell_mm_[1],
                                        (k + kPoints[point >> 2]) * cell_mm_[2]};
        const auto amounts = map.Of(object.Attenuation(at) / mu_water_per_mm);
        for (int m = 0; m < kTissueMaterials; ++m) cell[m] += static_cast<float>(amounts[m] / 8);
      }
    }
  }
}

std::array<double, 3> ScatterVolume::ToCells(Vec3 point) const {
  const Vec3 offset = point - box_.low;
  return {offset.x / cell_mm_[0], offset.y / cell_mm_[1], offset.z / cell_mm_[2]};
}

Inside ScatterVolume::Clip(Vec3 origin, Vec3 direction) const {
  const auto o = ToCells(origin), d = ToCells(box_.low + direction);
  Inside inside{0, std::numeric_limits<double>::infinity()};
  for (int a = 0; a < 3; ++a) {
    if (d[a] == 0) {
      if (o[a] < 0 || o[a] > counts_[a]) return {};
      continue;
    }
    const double r = -o[a] / d[a], s = (counts_[a] - o[a]) / d[a];
    inside.begin = std::max(inside.begin, std::min(r, s));
    inside.end = std::min(inside.end, std::max(r, s));
  }
  return inside;
}

ByMaterial ScatterVolume::At(Vec3 point) const {
  const auto p = ToCells(point);
  std::array<int64_t, 3> cell;
  for (int a = 0; a < 3; ++a) {
    cell[a] = std::clamp(static_cast<int>(p[a]), 0, counts_[a] - 1);
  }
  return cells_[Offset(cell[0], cell[1], cell[2])];
}

ByMaterial ScatterVolume::PathsMm(Vec3 origin, Vec3 direction) const {
  const Inside inside = Clip(origin, direction);
  ByMaterial paths{};
  if (!(inside.end > inside.begin)) return paths;
  const auto o = ToCells(origin + inside.begin * direction), d = ToCells(box_.low + direction);
  const auto lanes = [](const std::array<double, 3>& v) {
    return phantom::Float4{static_cast<float>(v[0]), static_cast<float>(v[1]),
                           static_cast<float>(v[2]), 0};
  };
  phantom::LatticeWalk walk({lanes(o), lanes(d)}, 0, static_cast<float>(inside.end - inside.begin),
                            1, counts_, strides_);
  const ByMaterial* first = &cells_[Offset(0, 0, 0)];
  phantom::Float4 position{};
  bool more = true;
  while (more) {
    const phantom::Float4 next = walk.Next();
    paths += (next - position) * first[walk.offset()];
    position = next;
    more = walk.Cross(next);
  }
  return paths;
}

double ScatterVolume::Most(ByMaterial coefficients) const {
  float most = 0;
  for (const ByMaterial& extreme : extremes_) {
    const ByMaterial parts = extreme * coefficients;
    most = std::max(most, parts[0] + parts[1] + parts[2] + parts[3]);
  }
  return most;
}

CellTable ScatterVolume::Table() const {
  return {box_.low, cell_mm_, counts_, strides_, LaneSpan(cells_)};
}

uint32_t ScatterVolume::Checksum() const {
  const double box[] = {box_.low.x, box_.low.y, box_.low.z, box_.high.x, box_.high.y, box_.high.z};
  return ExtendCrc32c(Crc32c(std::as_bytes(std::span(box))), std::as_bytes(std::span(cells_)));
}

}  // namespace isocenter::physics
