#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/layout.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/iterative/methods.h"
#include "kernels/cpu/iterative/variation_columns.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/iterative/variation.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h: these headers, too, are compiled once per target.
#include "hwy/highway.h"
#include "kernels/cpu/iterative/variation_columns-inl.h"

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(TotalVariationGradient);
HWY_EXPORT(TotalVariation);
HWY_EXPORT(HuberGradient);
HWY_EXPORT(Huber);
HWY_EXPORT(AscendDual);
HWY_EXPORT(AddDivergence);

// The columns of a volume; of one slice too.
template <class T>
struct Columns {
  T* data = nullptr;
  int64_t column_stride = 0, row_stride = 0;
  T* at(int64_t x, int64_t y) const { return data + y * row_stride + x * column_stride; }
};

template <class VolumeType>
auto ColumnsOf(VolumeType& volume) {
  const VolumeLayout layout(volume.grid());
  return Columns<std::remove_pointer_t<decltype(volume.data())>>{
      volume.data(), layout.column_stride, layout.row_stride};
}

// A slab and what is next to it.
class Slab {
 public:
  static absl::StatusOr<Slab> Create(const ops::VolumeBuffer& f, const ops::NeighborSlices& next);

  const VolumeGrid& grid() const { return grid_; }
  const float* Column(int64_t x, int64_t y) const {
    return f_.at(Inside(x, grid_.nx), Inside(y, grid_.ny));
  }
  /// A copy at `to`, with the elements below and above: the slices next to the slab or, at the
  /// volume's ends, the column's own.
  const float* CopyColumn(int64_t x, int64_t y, float* to) const {
    x = Inside(x, grid_.nx);
    y = Inside(y, grid_.ny);
    const float* column = f_.at(x, y);
    std::copy_n(column, grid_.nz, to);
    to[-1] = below_.data != nullptr ? *below_.at(x, y) : column[0];
    to[grid_.nz] = above_.data != nullptr ? *above_.at(x, y) : column[grid_.nz - 1];
    return to;
  }

 private:
  static int64_t Inside(int64_t index, int count) {
    return std::clamp<int64_t>(index, 0, count - 1);
  }

  VolumeGrid grid_;
  Columns<const float> f_, below_, above_;
};

// Memory for some copies of columns, each with an element before it and whole vectors behind.
class ColumnCopies {
 public:
  ColumnCopies(int count, int nz)
      : stride_(RoundUpToLine(nz + 1) + 2 * kLine), data_(static_cast<size_t>(count * stride_)) {}
  float* operator[](int index) { return data_.data() + index * stride_ + kLine; }

 private:
  int64_t stride_;
  std::vector<float> data_;
};

absl::StatusOr<Slab> Slab::Create(const ops::VolumeBuffer& f, const ops::NeighborSlices& next) {
  Slab slab;
  ISO_ASSIGN_OR_RETURN(const Volume* own, AsVolume(f));
  slab.grid_ = own->grid();
  slab.f_ = ColumnsOf(*own);
  if (next.below != nullptr) {
    ISO_ASSIGN_OR_RETURN(const Volume* below, AsVolume(*next.below));
    slab.below_ = ColumnsOf(*below);
  }
  if (next.above != nullptr) {
    ISO_ASSIGN_OR_RETURN(const Volume* above, AsVolume(*next.above));
    slab.above_ = ColumnsOf(*above);
  }
  return slab;
}

absl::StatusOr<Columns<float>> WritableColumns(ops::VolumeBuffer& volume) {
  ISO_ASSIGN_OR_RETURN(Volume * own, AsVolume(volume));
  return ColumnsOf(*own);
}

PriorParameters Parameters(const VolumeGrid& grid, double strength, double scale) {
  const Vec3 s = grid.spacing;
  const double typical = std::cbrt(s.x * s.y * s.z);
  return {.gain = {static_cast<float>(typical / s.x), static_cast<float>(typical / s.y),
                   static_cast<float>(typical / s.z)},
          .strength = static_cast<float>(strength),
          .scale = static_cast<float>(scale)};
}

class VariationSimd final : public ops::Variation {
 public:
  explicit VariationSimd(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  absl::Status DoAddTotalVariationGradient(double strength, double epsilon,
                                           const ops::VolumeBuffer& f,
                                           const ops::NeighborSlices& neighbors,
                                           ops::VolumeBuffer& gradient) override;
  absl::StatusOr<double> DoTotalVariation(double epsilon, const ops::VolumeBuffer& f,
                                          const ops::NeighborSlices& neighbors) override;
  absl::Status DoAddHuberGradient(double strength, double delta, const ops::VolumeBuffer& f,
                                  const ops::NeighborSlices& neighbors,
                                  ops::VolumeBuffer& gradient) override;
  absl::StatusOr<double> DoHuber(double delta, const ops::VolumeBuffer& f,
                                 const ops::NeighborSlices& neighbors) override;
  absl::Status DoAscendDual(double step, double bound, const ops::VolumeBuffer& f,
                            const ops::NeighborSlices& neighbors,
                            const ops::VectorField<ops::VolumeBuffer>& p) override;
  absl::Status DoAddDivergence(double step, const ops::VectorField<const ops::VolumeBuffer>& p,
                               const ops::VolumeBuffer* below, ops::VolumeBuffer& f) override;

 private:
  // Calls body(x, y, neighborhood) for every column. The neighborhood has center, left, right,
  // down and up.
  template <class Body>
  void ForEachColumn(const Slab& slab, const Body& body) {
    const VolumeGrid& grid = slab.grid();
    pool_->ParallelFor(grid.ny, [&](int64_t y, int) {
      ColumnCopies copies(1, grid.nz);
      for (int64_t x = 0; x < grid.nx; ++x) {
        body(x, y,
             Neighborhood{.center = slab.CopyColumn(x, y, copies[0]),
                          .left = slab.Column(x - 1, y),
                          .right = slab.Column(x + 1, y),
                          .down = slab.Column(x, y - 1),
                          .up = slab.Column(x, y + 1)});
      }
    });
  }

  std::shared_ptr<ThreadPool> pool_;
};

absl::Status VariationSimd::DoAddTotalVariationGradient(double strength, double epsilon,
                                                        const ops::VolumeBuffer& f,
                                                        const ops::NeighborSlices& neighbors,
                                                        ops::VolumeBuffer& gradient) {
  ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Create(f, neighbors));
  const VolumeGrid& grid = slab.grid();
  ISO_ASSIGN_OR_RETURN(const Columns<float> out, WritableColumns(gradient));
  const PriorParameters parameters = Parameters(grid, strength, epsilon);
  const auto add = HWY_DYNAMIC_DISPATCH(TotalVariationGradient);
  pool_->ParallelFor(grid.ny, [&](int64_t y, int) {
    // Copies 0 to 2 hold the columns at x - 1, x and x + 1 in turn.
    ColumnCopies copies(5, grid.nz);
    const auto slot = [](int64_t x) { return static_cast<int>((x + 1) % 3); };
    slab.CopyColumn(-1, y, copies[slot(-1)]);
    slab.CopyColumn(0, y, copies[slot(0)]);
    for (int64_t x = 0; x < grid.nx; ++x) {
      const Neighborhood around{.center = copies[slot(x)],
                                .left = copies[slot(x - 1)],
                                .right = slab.CopyColumn(x + 1, y, copies[slot(x + 1)]),
                                .down = slab.CopyColumn(x, y - 1, copies[3]),
                                .up = slab.CopyColumn(x, y + 1, copies[4]),
                                .left_up = slab.Column(x - 1, y + 1),
                                .right_down = slab.Column(x + 1, y - 1)};
      add(around, parameters, out.at(x, y), grid.nz);
    }
  });
  return absl::OkStatus();
}

absl::StatusOr<double> VariationSimd::DoTotalVariation(double epsilon, const ops::VolumeBuffer& f,
                                                       const ops::NeighborSlices& neighbors) {
  ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Create(f, neighbors));
  const PriorParameters parameters = Parameters(slab.grid(), 0, epsilon);
  const auto sum = HWY_DYNAMIC_DISPATCH(TotalVariation);
  std::vector<LaneSums> sums(static_cast<size_t>(slab.grid().ny));
  ForEachColumn(slab, [&](int64_t, int64_t y, const Neighborhood& around) {
    sum(around, parameters, slab.grid().nz, sums[y]);
  });
  return Total(sums);
}

absl::Status VariationSimd::DoAddHuberGradient(double strength, double delta,
                                               const ops::VolumeBuffer& f,
                                               const ops::NeighborSlices& neighbors,
                                               ops::VolumeBuffer& gradient) {
  ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Create(f, neighbors));
  ISO_ASSIGN_OR_RETURN(const Columns<float> out, WritableColumns(gradient));
  const PriorParameters parameters = Parameters(slab.grid(), strength, delta);
  const auto add = HWY_DYNAMIC_DISPATCH(HuberGradient);
  ForEachColumn(slab, [&](int64_t x, int64_t y, const Neighborhood& around) {
    add(around, parameters, out.at(x, y), slab.grid().nz);
  });
  return absl::OkStatus();
}

absl::StatusOr<double> VariationSimd::DoHuber(double delta, const ops::VolumeBuffer& f,
                                              const ops::NeighborSlices& neighbors) {
  ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Create(f, neighbors));
  const PriorParameters parameters = Parameters(slab.grid(), 0, delta);
  const auto sum = HWY_DYNAMIC_DISPATCH(Huber);
  std::vector<LaneSums> sums(static_cast<size_t>(slab.grid().ny));
  ForEachColumn(slab, [&](int64_t, int64_t y, const Neighborhood& around) {
    sum(around, parameters, slab.grid().nz, sums[y]);
  });
  return Total(sums);
}

absl::Status VariationSimd::DoAscendDual(double step, double bound, const ops::VolumeBuffer& f,
                                         const ops::NeighborSlices& neighbors,
                                         const ops::VectorField<ops::VolumeBuffer>& p) {
  ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Create(f, neighbors));
  ISO_ASSIGN_OR_RETURN(const Columns<float> px, WritableColumns(*p.x));
  ISO_ASSIGN_OR_RETURN(const Columns<float> py, WritableColumns(*p.y));
  ISO_ASSIGN_OR_RETURN(const Columns<float> pz, WritableColumns(*p.z));
  const PriorParameters parameters = Parameters(slab.grid(), step, bound);
  const auto ascend = HWY_DYNAMIC_DISPATCH(AscendDual);
  ForEachColumn(slab, [&](int64_t x, int64_t y, const Neighborhood& around) {
    ascend(around, parameters, {px.at(x, y), py.at(x, y), pz.at(x, y)}, slab.grid().nz);
  });
  return absl::OkStatus();
}

absl::Status VariationSimd::DoAddDivergence(double step,
                                            const ops::VectorField<const ops::VolumeBuffer>& p,
                                            const ops::VolumeBuffer* below, ops::VolumeBuffer& f) {
  ISO_ASSIGN_OR_RETURN(const Slab px, Slab::Create(*p.x, {}));
  ISO_ASSIGN_OR_RETURN(const Slab py, Slab::Create(*p.y, {}));
  ISO_ASSIGN_OR_RETURN(const Slab pz, Slab::Create(*p.z, {.below = below}));
  const VolumeGrid& grid = px.grid();
  ISO_ASSIGN_OR_RETURN(const Columns<float> out, WritableColumns(f));
  const PriorParameters parameters = Parameters(grid, step, 0);
  const auto add = HWY_DYNAMIC_DISPATCH(AddDivergence);
  pool_->ParallelFor(grid.ny, [&](int64_t y, int) {
    ColumnCopies copies(1, grid.nz);
    for (int64_t x = 0; x < grid.nx; ++x) {
      float* const z_column = copies[0];
      pz.CopyColumn(x, y, z_column);
      if (below == nullptr) z_column[-1] = 0;
      const float wx = parameters.strength * parameters.gain[0];
      const float wy = parameters.strength * parameters.gain[1];
      const float wz = parameters.strength * parameters.gain[2];
      add({.here = {px.Column(x, y), py.Column(x, y), z_column},
           .before = {px.Column(x - 1, y), py.Column(x, y - 1), z_column - 1},
           .weight_here = {wx, wy, wz},
           .weight_before = {x > 0 ? wx : 0, y > 0 ? wy : 0, wz}},
          out.at(x, y), grid.nz);
    }
  });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<VariationSimd>(own->pool());
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
