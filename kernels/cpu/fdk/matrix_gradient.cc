#include "kernels/ops/matrix_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/fdk/backproject_job.h"
#include "kernels/cpu/fdk/methods.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fdk/matrix_gradient.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come before the headers that it compiles once per target.
#include "hwy/highway.h"
#include "kernels/cpu/fdk/backproject_gather-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

// Of the voxels (x, y, z), z < nz, for the three rows of the matrix: sums of what is to be
// multiplied by 1, x and y, and of the same times z.
struct ColumnSums {
  V plain[3], times_z[3];
};

// Adds the voxels from z on, of which there are `lanes` at most. `slopes`: of the column, from 0.
HWY_INLINE void AddBlock(const BackprojectView& view, int x, int y, int z, int nz,
                         const float* HWY_RESTRICT slopes, ColumnSums& sums) {
  const D d;
  const hn::RebindToSigned<D> di;
  const auto& m = view.matrix.m;
  const V lane = hn::Iota(d, 0.0f), zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  const V s = hn::IfThenElseZero(hn::Lt(lane, hn::Set(d, static_cast<float>(nz - z))),
                                 hn::Load(d, slopes + z));
  if (hn::AllTrue(d, hn::Eq(s, zero))) return;
  const Projected base =
      view.matrix.Project({static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
  // Positions relative to a pixel nearby keep the digits that matter.
  double near_u = 0, near_v = 0;
  if (base.w > 0) {
    near_u = std::floor(std::clamp(base.u(), -1.0, static_cast<double>(view.columns)));
    near_v = std::floor(std::clamp(base.v(), -1.0, static_cast<double>(view.rows)));
  }
  const auto along = [&](double start, double step) HWY_ATTR {
    return hn::MulAdd(lane, hn::Set(d, static_cast<float>(step)),
                      hn::Set(d, static_cast<float>(start)));
  };
  const V w = along(base.w, m[10]);
  const auto in_front = hn::Gt(w, zero);
  const V inverse = hn::Div(one, hn::IfThenElse(in_front, w, one));
  // From two pixels before the detector and one behind it on all four pixels around are zero, and
  // so are derivatives.
  const V u = hn::Clamp(hn::Mul(along(base.uw - near_u * base.w, m[2] - near_u * m[10]), inverse),
                        hn::Set(d, static_cast<float>(-2 - near_u)),
                        hn::Set(d, static_cast<float>(view.columns - near_u)));
  const V v = hn::Clamp(hn::Mul(along(base.vw - near_v * base.w, m[6] - near_v * m[10]), inverse),
                        hn::Set(d, static_cast<float>(-2 - near_v)),
                        hn::Set(d, static_cast<float>(view.rows - near_v)));
  const V iu = hn::Floor(u), iv = hn::Floor(v);
  const V a = hn::Sub(u, iu), b = hn::Sub(v, iv);
  const auto stride = hn::Set(di, static_cast<int32_t>(view.stride));
  const auto index = hn::Add(hn::Mul(hn::ConvertTo(di, iu), stride), hn::ConvertTo(di, iv));
  const float* image =
      view.image + static_cast<int64_t>(near_u) * view.stride + static_cast<int64_t>(near_v);
  V p00, p01, p10, p11;  // column, row
  GatherPairs(image, index, p00, p01);
  GatherPairs(image + view.stride, index, p10, p11);
  const V left_v = hn::Sub(p01, p00), right_v = hn::Sub(p11, p10);
  const V left = hn::MulAdd(b, left_v, p00);
  const V along_u = hn::Sub(hn::MulAdd(b, right_v, p10), left);
  const V along_v = hn::MulAdd(a, hn::Sub(right_v, left_v), left_v);
  const V value = hn::MulAdd(a, along_u, left);
  const V g = hn::IfThenElseZero(in_front, hn::Mul(hn::Mul(s, inverse), hn::Mul(inverse, inverse)));
  const V by_u = hn::Mul(g, along_u), by_v = hn::Mul(g, along_v);
  const V full_u = hn::Add(u, hn::Set(d, static_cast<float>(near_u)));
  const V full_v = hn::Add(v, hn::Set(d, static_cast<float>(near_v)));
  const V twice = hn::Mul(g, hn::Add(value, value));
  const V by_w = hn::Neg(hn::MulAdd(full_u, by_u, hn::MulAdd(full_v, by_v, twice)));
  const V at_z = hn::Add(lane, hn::Set(d, static_cast<float>(z)));
  const V by[3] = {by_u, by_v, by_w};
  for (int row = 0; row < 3; ++row) {
    sums.plain[row] = hn::Add(sums.plain[row], by[row]);
    sums.times_z[row] = hn::MulAdd(by[row], at_z, sums.times_z[row]);
  }
}

// The slope by the matrix of voxel indices. `slopes` in VolumeLayout.
void RunView(const BackprojectView& view, const VolumeGrid& grid, const float* slopes,
             int64_t column_stride, int64_t row_stride, ops::MatrixSlope& slope) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  slope = {};
  for (int y = 0; y < grid.ny; ++y) {
    for (int x = 0; x < grid.nx; ++x) {
      const float* column = slopes + y * row_stride + x * column_stride;
      ColumnSums sums;
      for (int row = 0; row < 3; ++row) sums.plain[row] = sums.times_z[row] = hn::Zero(d);
      for (int z = 0; z < grid.nz; z += lanes) AddBlock(view, x, y, z, grid.nz, column, sums);
      for (int row = 0; row < 3; ++row) {
        const double sum = hn::GetLane(hn::SumOfLanes(d, sums.plain[row]));
        slope[4 * row] += sum * x;
        slope[4 * row + 1] += sum * y;
        slope[4 * row + 2] += hn::GetLane(hn::SumOfLanes(d, sums.times_z[row]));
        slope[4 * row + 3] += sum;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(RunView);

// The matrix of voxel indices is P·A, A from indices to the world: dE/dP = dE/d(PA) · Aᵀ.
ops::MatrixSlope ToWorld(const ops::MatrixSlope& by_index, const VolumeGrid& grid) {
  const Vec3 origin = grid.VoxelToWorld(0, 0, 0);
  const Vec3 columns[4] = {grid.VoxelToWorld(1, 0, 0) - origin, grid.VoxelToWorld(0, 1, 0) - origin,
                           grid.VoxelToWorld(0, 0, 1) - origin, origin};
  ops::MatrixSlope by_world{};
  for (int row = 0; row < 3; ++row) {
    for (int k = 0; k < 4; ++k) {
      const double slope = by_index[4 * row + k];
      by_world[4 * row] += slope * columns[k].x;
      by_world[4 * row + 1] += slope * columns[k].y;
      by_world[4 * row + 2] += slope * columns[k].z;
    }
    by_world[4 * row + 3] = by_index[4 * row + 3];
  }
  return by_world;
}

class MatrixGradient final : public ops::MatrixGradient {
 public:
  explicit MatrixGradient(const CpuSession& session) : pool_(session.pool()) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& filtered, const ops::VolumeBuffer& volume_slopes,
                     std::span<ops::MatrixSlope> slopes) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(const Volume* volume, AsVolume(volume_slopes));
    const VolumeGrid& grid = volume->grid();
    const VolumeLayout voxels(grid);
    const ColumnLayout columns(stack->shape());
    const auto run = HWY_DYNAMIC_DISPATCH(RunView);
    // A view is one thread's: its sums have one order.
    pool_->ParallelFor(static_cast<int64_t>(matrices.size()), [&](int64_t view, int) {
      ops::MatrixSlope by_index;
      run({.matrix = ToVoxelIndices(matrices[view], grid),
           .image = stack->data() + view * columns.view_stride + columns.first,
           .stride = columns.column_stride,
           .rows = static_cast<int>(stack->shape().middle),
           .columns = static_cast<int>(stack->shape().fast)},
          grid, volume->data(), voxels.column_stride, voxels.row_stride, by_index);
      slopes[view] = ToWorld(by_index, grid);
    });
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::MatrixGradient>> NewMatrixGradient(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<MatrixGradient>(*own);
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
