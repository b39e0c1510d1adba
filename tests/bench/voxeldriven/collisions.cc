#include "tests/bench/voxeldriven/collisions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace isocenter::bench {
namespace {

constexpr int kAlong = 32, kDown = 8;  // threads of a block, as in kernels/cuda/published

struct Voxel {
  int x, y, z;
};
Voxel VoxelAt(ThreadPlane plane, int along, int down, int across) {
  if (plane == ThreadPlane::kAxial) return {along, down, across};
  if (plane == ThreadPlane::kCoronal) return {along, across, down};
  return {across, along, down};
}

struct Seen {
  bool on_detector = false;
  double u = 0, v = 0;
};

// Sums over blocks.
struct Tally {
  int64_t threads = 0, later = 0, neighbours = 0;
  double apart = 0;
};

class Blocks {
 public:
  Blocks(const ProjectionMatrix& view, const VolumeGrid& grid, const Detector& detector)
      : indexed_(ToVoxelIndices(view, grid)), detector_(detector) {}

  void Add(ThreadPlane plane, int along, int down, int across, const std::array<int, 2>& size) {
    std::vector<Seen> seen;
    for (int j = 0; j < kDown; ++j) {
      for (int i = 0; i < kAlong; ++i) {
        const bool inside = along + i < size[0] && down + j < size[1];
        seen.push_back(inside ? At(VoxelAt(plane, along + i, down + j, across)) : Seen{});
      }
    }
    CountThreads(seen);
    for (int j = 0; j < kDown; ++j) {
      for (int i = 0; i < kAlong; ++i) {
        const Seen& one = seen[static_cast<size_t>(j * kAlong + i)];
        if (i + 1 < kAlong) CountPair(one, seen[static_cast<size_t>(j * kAlong + i + 1)]);
        if (j + 1 < kDown) CountPair(one, seen[static_cast<size_t>((j + 1) * kAlong + i)]);
      }
    }
  }
  const Tally& tally() const { return tally_; }

 private:
  Seen At(const Voxel& voxel) const {
    const auto& m = indexed_.m;
    const auto row = [&](int at) {
      return m[at] * voxel.x + m[at + 1] * voxel.y + m[at + 2] * voxel.z + m[at + 3];
    };
    const double w = row(8);
    if (!(w > 0)) return {};
    const double u = row(0) / w, v = row(4) / w;
    return {u >= 0 && u < detector_.columns && v >= 0 && v < detector_.rows, u, v};
  }

  void CountThreads(const std::vector<Seen>& seen) {
    std::vector<int64_t> pixels;
    for (const Seen& one : seen) {
      if (!one.on_detector) continue;
      pixels.push_back(static_cast<int64_t>(one.v) * detector_.columns +
                       static_cast<int64_t>(one.u));
    }
    std::sort(pixels.begin(), pixels.end());
    tally_.threads += static_cast<int64_t>(pixels.size());
    tally_.later += pixels.end() - std::unique(pixels.begin(), pixels.end());
  }

  void CountPair(const Seen& a, const Seen& b) {
    if (!a.on_detector || !b.on_detector) return;
    tally_.apart += std::hypot(a.u - b.u, a.v - b.v);
    ++tally_.neighbours;
  }

  ProjectionMatrix indexed_;
  Detector detector_;
  Tally tally_;
};

}  // namespace

Collisions CountCollisions(const ProjectionMatrix& view, const VolumeGrid& grid,
                           const Detector& detector, ThreadPlane plane, int every) {
  const Voxel size = plane == ThreadPlane::kAxial     ? Voxel{grid.nx, grid.ny, grid.nz}
                     : plane == ThreadPlane::kCoronal ? Voxel{grid.nx, grid.nz, grid.ny}
                                                      : Voxel{grid.ny, grid.nz, grid.nx};
  Blocks blocks(view, grid, detector);
  for (int across = 0; across < size.z; across += every) {
    for (int down = 0; down < size.y; down += kDown * every) {
      for (int along = 0; along < size.x; along += kAlong * every) {
        blocks.Add(plane, along, down, across, {size.x, size.y});
      }
    }
  }
  const Tally& tally = blocks.tally();
  if (tally.threads == 0) return {};
  return {static_cast<double>(tally.later) / static_cast<double>(tally.threads),
          tally.apart / std::max<double>(1, static_cast<double>(tally.neighbours))};
}

}  // namespace isocenter::bench
