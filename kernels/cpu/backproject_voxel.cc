#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/device.h"
#include "kernels/cpu/highway_targets.h"
#include "kernels/cpu/methods.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/backproject_voxel.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef ISOCENTER_CPU_BACKPROJECT_VIEW
#define ISOCENTER_CPU_BACKPROJECT_VIEW
namespace isocenter::cpu {

struct BackprojectView {
  ProjectionMatrix matrix;  // of voxel indices
  const float* image;       // pixel (0, 0)
  int64_t stride;           // from column to column
  int rows, columns;
};

}  // namespace isocenter::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Adds one view to `count` voxels (x, y, z0...), with every coordinate exact in every lane.
void GatherColumn(const BackprojectView& view, int x, int y, int z0, int count,
                  float* HWY_RESTRICT column) {
  const D d;
  const hn::RebindToSigned<D> di;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto& m = view.matrix.m;
  const V lane = hn::Iota(d, 0.0f), zero = hn::Zero(d);
  for (int z = z0; z < z0 + count; z += lanes) {
    const Projected base = view.matrix.Project({double(x), double(y), double(z)});
    // Positions relative to a pixel nearby keep the digits that matter.
    double near_u = 0, near_v = 0;
    if (base.w > 0) {
      near_u = std::floor(std::clamp(base.u(), -1.0, double(view.columns)));
      near_v = std::floor(std::clamp(base.v(), -1.0, double(view.rows)));
    }
    const auto along = [&](double start, double step) HWY_ATTR {
      return hn::MulAdd(lane, hn::Set(d, static_cast<float>(step)),
                        hn::Set(d, static_cast<float>(start)));
    };
    const V w = along(base.w, m[10]);
    const auto in_front = hn::Gt(w, zero);
    const V inverse = hn::Div(hn::Set(d, 1.0f), hn::IfThenElse(in_front, w, hn::Set(d, 1.0f)));
    // Beyond one pixel outside everything is zero.
    const V u = hn::Clamp(hn::Mul(along(base.uw - near_u * base.w, m[2] - near_u * m[10]), inverse),
                          hn::Set(d, static_cast<float>(-1 - near_u)),
                          hn::Set(d, static_cast<float>(view.columns - near_u)));
    const V v = hn::Clamp(hn::Mul(along(base.vw - near_v * base.w, m[6] - near_v * m[10]), inverse),
                          hn::Set(d, static_cast<float>(-1 - near_v)),
                          hn::Set(d, static_cast<float>(view.rows - near_v)));
    const V iu = hn::Floor(u), iv = hn::Floor(v);
    const V a = hn::Sub(u, iu), b = hn::Sub(v, iv);
    const auto stride = hn::Set(di, static_cast<int32_t>(view.stride));
    const auto index = hn::Add(hn::Mul(hn::ConvertTo(di, iu), stride), hn::ConvertTo(di, iv));
    const float* image =
        view.image + static_cast<int64_t>(near_u) * view.stride + static_cast<int64_t>(near_v);
    const V p00 = hn::GatherIndex(d, image, index), p01 = hn::GatherIndex(d, image + 1, index);
    const V p10 = hn::GatherIndex(d, image + view.stride, index);
    const V p11 = hn::GatherIndex(d, image + view.stride + 1, index);
    const V left = hn::MulAdd(b, hn::Sub(p01, p00), p00);
    const V right = hn::MulAdd(b, hn::Sub(p11, p10), p10);
    const V value = hn::MulAdd(a, hn::Sub(right, left), left);
    const V weight = hn::IfThenElseZero(in_front, hn::Mul(inverse, inverse));
    hn::Store(hn::MulAdd(weight, value, hn::Load(d, column + z)), d, column + z);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(GatherColumn);

class BackprojectVoxel final : public ops::Backproject {
 public:
  explicit BackprojectVoxel(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  absl::Status Run(std::span<const ProjectionMatrix> matrices, const ops::ProjectionStack& filtered,
                   ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered, ops::StackUse::kFiltered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    if (static_cast<int64_t>(matrices.size()) > stack->shape().slow) {
      return absl::InvalidArgumentError(absl::StrCat(
          matrices.size(), " matrices for a projection stack of ", stack->shape().slow, " views"));
    }
    const VolumeGrid& grid = target->grid();
    const ColumnLayout columns(stack->shape());
    std::vector<BackprojectView> views;
    for (size_t i = 0; i < matrices.size(); ++i) {
      views.push_back(
          {.matrix = ToVoxelIndices(matrices[i], grid),
           .image = stack->data() + static_cast<int64_t>(i) * columns.view_stride + columns.first,
           .stride = columns.column_stride,
           .rows = static_cast<int>(stack->shape().middle),
           .columns = static_cast<int>(stack->shape().fast)});
    }
    const VolumeLayout layout(grid);
    const auto gather = HWY_DYNAMIC_DISPATCH(GatherColumn);
    pool_->ParallelFor(grid.ny, [&](int64_t y, int) {
      for (int x = 0; x < grid.nx; ++x) {
        float* column = target->data() + y * layout.row_stride + x * layout.column_stride;
        for (const BackprojectView& view : views) {
          gather(view, x, static_cast<int>(y), 0, grid.nz, column);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(CpuDevice * own, AsCpuDevice(device));
  return std::make_unique<BackprojectVoxel>(own->pool());
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
