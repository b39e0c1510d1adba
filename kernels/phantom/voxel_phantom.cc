#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/phantom/lattice_walk.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {
namespace {

using Index3 = std::array<int, 3>;

// The two voxels at p and p + 1, twice.
inline Float4 LoadPairTwice(const float* p) {
  typedef double Double2 __attribute__((vector_size(16)));
  double pair;
  std::memcpy(&pair, p, sizeof(pair));
  return reinterpret_cast<Float4>(Double2{pair, pair});
}

class VoxelPhantom : public Phantom {
 public:
  VoxelPhantom(const std::vector<float>& voxels, const VolumeGrid& grid);
  double Attenuation(Vec3 point) const override;
  double LineIntegral(Vec3 source, Vec3 direction) const override;
  Box Bounds() const override;
  std::unique_ptr<Phantom> Mapped(const std::function<double(double)>& map) const override;

 private:
  // Cells per side of a block of the occupancy map.
  static constexpr int kBlock = 8;

  bool Clip(Vec3 origin, Vec3 slope, double& begin, double& end) const;
  float IntegrateCells(const Line& line, float begin, float end) const;
  void MarkOccupied();

  VolumeGrid grid_;
  Index3 cells_;                    // between voxel centres; 1 along an axis of one voxel
  std::array<int64_t, 3> strides_;  // of the voxels
  std::vector<float> voxels_;       // with a layer of zeros around
  const float* first_;              // voxel (0, 0, 0)
  Index3 blocks_;                   // of the occupancy map
  std::array<int64_t, 3> block_strides_;
  std::vector<uint8_t> occupied_;  // a voxel that is not zero; with a layer of zeros around
  const uint8_t* first_block_;
};

// Strides of an array with one more element at both ends of each axis.
std::array<int64_t, 3> PaddedStrides(int nx, int ny) {
  const int64_t line = nx + 2;
  return {1, line, line * (ny + 2)};
}

int64_t Sum(const std::array<int64_t, 3>& a) { return a[0] + a[1] + a[2]; }

VoxelPhantom::VoxelPhantom(const std::vector<float>& voxels, const VolumeGrid& grid)
    : grid_(grid),
      cells_{std::max(1, grid.nx - 1), std::max(1, grid.ny - 1), std::max(1, grid.nz - 1)},
      strides_(PaddedStrides(grid.nx, grid.ny)),
      voxels_(strides_[2] * (grid.nz + 2)),
      first_(voxels_.data() + Sum(strides_)) {
  float* to = voxels_.data() + Sum(strides_);
  for (int64_t k = 0; k < grid.nz; ++k) {
    for (int64_t j = 0; j < grid.ny; ++j) {
      std::copy_n(&voxels[(k * grid.ny + j) * grid.nx], grid.nx,
                  to + k * strides_[2] + j * strides_[1]);
    }
  }
  MarkOccupied();
}

void VoxelPhantom::MarkOccupied() {
  for (int a = 0; a < 3; ++a) blocks_[a] = (cells_[a] + kBlock - 1) / kBlock;
  block_strides_ = PaddedStrides(blocks_[0], blocks_[1]);
  occupied_.assign(block_strides_[2] * (blocks_[2] + 2), 0);
  uint8_t* const first = occupied_.data() + Sum(block_strides_);
  first_block_ = first;
  // A voxel is a corner of the cells on both its sides, which may belong to two blocks.
  const auto blocks_of = [](int voxel, int blocks) {
    return std::pair(std::max(0, voxel - 1) / kBlock, std::min(voxel / kBlock, blocks - 1));
  };
  for (int k = 0; k < grid_.nz; ++k) {
    const auto [k0, k1] = blocks_of(k, blocks_[2]);
    for (int j = 0; j < grid_.ny; ++j) {
      const auto [j0, j1] = blocks_of(j, blocks_[1]);
      for (int i = 0; i < grid_.nx; ++i) {
        if (first_[k * strides_[2] + j * strides_[1] + i] == 0) continue;
        const auto [i0, i1] = blocks_of(i, blocks_[0]);
        for (int bk = k0; bk <= k1; ++bk) {
          for (int bj = j0; bj <= j1; ++bj) {
            for (int bi = i0; bi <= i1; ++bi) {
              first[bk * block_strides_[2] + bj * block_strides_[1] + bi] = 1;
            }
          }
        }
      }
    }
  }
}

double VoxelPhantom::Attenuation(Vec3 point) const {
  const Vec3 p = grid_.WorldToVoxel(point);
  if (!(p.x >= 0 && p.x <= grid_.nx - 1 && p.y >= 0 && p.y <= grid_.ny - 1 && p.z >= 0 &&
        p.z <= grid_.nz - 1)) {
    return 0;
  }
  const int64_t i = static_cast<int64_t>(p.x), j = static_cast<int64_t>(p.y),
                k = static_cast<int64_t>(p.z);
  const double fx = p.x - i, fy = p.y - j, fz = p.z - k;
  const float* v = first_ + k * strides_[2] + j * strides_[1] + i;
  const auto along_x = [fx](const float* q) { return q[0] + fx * (q[1] - q[0]); };
  const auto in_plane = [&](const float* q) {
    return along_x(q) + fy * (along_x(q + strides_[1]) - along_x(q));
  };
  return in_plane(v) + fz * (in_plane(v + strides_[2]) - in_plane(v));
}

Box VoxelPhantom::Bounds() const {
  Box box{grid_.origin, grid_.origin};
  for (int corner = 1; corner < 8; ++corner) {
    const Vec3 p = grid_.VoxelToWorld(corner & 1 ? grid_.nx - 1 : 0, corner & 2 ? grid_.ny - 1 : 0,
                                      corner & 4 ? grid_.nz - 1 : 0);
    box.low = {std::min(box.low.x, p.x), std::min(box.low.y, p.y), std::min(box.low.z, p.z)};
    box.high = {std::max(box.high.x, p.x), std::max(box.high.y, p.y), std::max(box.high.z, p.z)};
  }
  return box;
}

std::unique_ptr<Phantom> VoxelPhantom::Mapped(const std::function<double(double)>& map) const {
  std::vector<float> mapped(grid_.voxels());
  auto to = mapped.begin();
  for (int k = 0; k < grid_.nz; ++k) {
    for (int j = 0; j < grid_.ny; ++j) {
      const float* line = first_ + k * strides_[2] + j * strides_[1];
      to = std::transform(line, line + grid_.nx, to,
                          [&](float value) { return static_cast<float>(map(value)); });
    }
  }
  return std::make_unique<VoxelPhantom>(mapped, grid_);
}

// The part of the half-line inside the box of the outermost voxel centres.
bool VoxelPhantom::Clip(Vec3 origin, Vec3 slope, double& begin, double& end) const {
  const double o[] = {origin.x, origin.y, origin.z}, d[] = {slope.x, slope.y, slope.z};
  const int last[] = {grid_.nx - 1, grid_.ny - 1, grid_.nz - 1};
  begin = 0;
  end = std::numeric_limits<double>::infinity();
  for (int a = 0; a < 3; ++a) {
    if (d[a] == 0) {
      if (o[a] < 0 || o[a] > last[a]) return false;
      continue;
    }
    const double r = -o[a] / d[a], s = (last[a] - o[a]) / d[a];
    begin = std::max(begin, std::min(r, s));
    end = std::min(end, std::max(r, s));
  }
  return end > begin && std::isfinite(end);
}

double VoxelPhantom::LineIntegral(Vec3 source, Vec3 direction) const {
  const Vec3 origin = grid_.WorldToVoxel(source);
  const Vec3 slope = grid_.WorldToVoxel(source + direction) - origin;
  double begin, end;
  if (!Clip(origin, slope, begin, end)) return 0;
  const Vec3 entry = origin + begin * slope;
  const Line line{
      {static_cast<float>(entry.x), static_cast<float>(entry.y), static_cast<float>(entry.z)},
      {static_cast<float>(slope.x), static_cast<float>(slope.y), static_cast<float>(slope.z)}};
  // Integrate run by run of occupied blocks.
  LatticeWalk walk(line, 0, static_cast<float>(end - begin), kBlock, blocks_, block_strides_);
  double sum = 0;
  float position = 0, run = 0;
  bool in_run = false;
  bool more = true;
  while (more) {
    const bool occupied = first_block_[walk.offset()];
    if (occupied != in_run) {
      if (in_run) sum += IntegrateCells(line, run, position);
      run = position;
      in_run = occupied;
    }
    const Float4 next = walk.Next();
    position = next[0];
    more = walk.Cross(next);
  }
  if (in_run) sum += IntegrateCells(line, run, position);
  return sum;
}

float VoxelPhantom::IntegrateCells(const Line& line, float begin, float end) const {
  LatticeWalk walk(line, begin, end, 1, cells_, strides_);
  // Four lanes: lower and upper x at the first Gauss-Legendre point on [0, 1], then at the second.
  const Float4 gauss = {0.21132487f, 0.21132487f, 0.78867513f, 0.78867513f};
  // Weights of the lower and the upper voxel: 1 - x and x.
  const Float4 x_sign = {-1, 1, -1, 1}, x_constant = {1, 0, 1, 0};
  const Float4 slope_x = Broadcast(line.slope[0]), slope_y = Broadcast(line.slope[1]),
               slope_z = Broadcast(line.slope[2]);
  const int64_t stride_y = strides_[1], stride_z = strides_[2];
  Float4 sum = {};
  Float4 position = Broadcast(begin);
  bool more = true;
  while (more) {
    const Float4 next = walk.Next();
    const Float4 length = next - position;
    const Float4 at = position + length * gauss;
    const Float4 base = line.origin - walk.cell();
    const float* p = first_ + walk.offset();
    more = walk.Cross(next);
    const Float4 x = __builtin_shufflevector(base, base, 0, 0, 0, 0) + at * slope_x;
    const Float4 y = __builtin_shufflevector(base, base, 1, 1, 1, 1) + at * slope_y;
    const Float4 z = __builtin_shufflevector(base, base, 2, 2, 2, 2) + at * slope_z;
    const Float4 v00 = LoadPairTwice(p), v01 = LoadPairTwice(p + stride_z);
    const Float4 v10 = LoadPairTwice(p + stride_y), v11 = LoadPairTwice(p + stride_y + stride_z);
    const Float4 v0 = v00 + z * (v01 - v00), v1 = v10 + z * (v11 - v10);
    const Float4 v = v0 + y * (v1 - v0);
    sum += length * (v * (x_constant + x_sign * x));
    position = next;
  }
  return 0.5f * (sum[0] + sum[1] + sum[2] + sum[3]);  // both points of the rule weigh 1/2
}

}  // namespace

absl::StatusOr<std::unique_ptr<Phantom>> MakeVoxelPhantom(std::vector<float> voxels,
                                                          const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  if (static_cast<int64_t>(voxels.size()) != grid.voxels()) {
    return absl::InvalidArgumentError(absl::StrCat("the volume has ", voxels.size(),
                                                   " voxels; its grid of ", grid.nx, " x ", grid.ny,
                                                   " x ", grid.nz, " has ", grid.voxels()));
  }
  for (size_t i = 0; i < voxels.size(); ++i) {
    if (!std::isfinite(voxels[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("voxel ", i, " is ", voxels[i], "; legal is a finite attenuation in 1/mm"));
    }
  }
  return std::make_unique<VoxelPhantom>(voxels, grid);
}

}  // namespace isocenter::phantom
