#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/layout.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/device/transpose.h"
#include "kernels/cpu/iterative/arithmetic_run.h"
#include "kernels/cpu/iterative/lane_sums.h"
#include "kernels/cpu/iterative/methods.h"
#include "kernels/cpu/iterative/vector_runs.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/iterative/arithmetic.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h: these headers, too, are compiled once per target.
#include "hwy/highway.h"
#include "kernels/cpu/iterative/arithmetic_runs-inl.h"

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(Fill);
HWY_EXPORT(Copy);
HWY_EXPORT(Scale);
HWY_EXPORT(Axpby);
HWY_EXPORT(Multiply);
HWY_EXPORT(MultiplyAdd);
HWY_EXPORT(MultiplyAddAbove);
HWY_EXPORT(Invert);
HWY_EXPORT(Exponential);
HWY_EXPORT(ClampBelow);
HWY_EXPORT(Bend);
HWY_EXPORT(Dot);

using RunFunction = void (*)(const ArithmeticRun&);

float UpperHalf(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xFFFFF000u);
}

float* Mutable(const VectorMemory& memory) { return const_cast<float*>(memory.data); }

class ArithmeticSimd final : public ops::Arithmetic {
 public:
  explicit ArithmeticSimd(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  absl::Status DoFill(double value, ops::Vector& y) override {
    return Apply(HWY_DYNAMIC_DISPATCH(Fill), value, 0, nullptr, nullptr, y);
  }
  absl::Status DoCopy(const ops::Vector& x, ops::Vector& y) override;
  absl::Status DoAxpby(double a, const ops::Vector& x, double b, ops::Vector& y) override {
    if (b == 0) return Apply(HWY_DYNAMIC_DISPATCH(Scale), a, b, nullptr, &x, y);
    return Apply(HWY_DYNAMIC_DISPATCH(Axpby), a, b, nullptr, &x, y);
  }
  absl::Status DoMultiply(const ops::Vector& x, ops::Vector& y) override {
    return Apply(HWY_DYNAMIC_DISPATCH(Multiply), 0, 0, nullptr, &x, y);
  }
  absl::Status DoMultiplyAdd(double a, const ops::Vector& w, const ops::Vector& x,
                             ops::Vector& y) override {
    return Apply(HWY_DYNAMIC_DISPATCH(MultiplyAdd), a, 0, &w, &x, y);
  }
  absl::Status DoMultiplyAddAbove(double least, double a, const ops::Vector& w,
                                  const ops::Vector& x, ops::Vector& y) override {
    return Apply(HWY_DYNAMIC_DISPATCH(MultiplyAddAbove), a, least, &w, &x, y);
  }
  absl::Status DoInvert(double threshold, ops::Vector& y) override {
    return Apply(HWY_DYNAMIC_DISPATCH(Invert), threshold, 0, nullptr, nullptr, y);
  }
  absl::Status DoExponential(double a, ops::Vector& y) override {
    const float upper = UpperHalf(static_cast<float>(a));
    return Apply(HWY_DYNAMIC_DISPATCH(Exponential), upper, a - upper, nullptr, nullptr, y);
  }
  absl::Status DoClampBelow(double least, ops::Vector& y) override {
    return Apply(HWY_DYNAMIC_DISPATCH(ClampBelow), least, 0, nullptr, nullptr, y);
  }
  absl::Status DoBend(const ops::HounsfieldHinges& hinges, ops::Vector& y) override;

  absl::StatusOr<double> DoDot(const ops::Vector& x, const ops::Vector& y) override {
    ISO_ASSIGN_OR_RETURN(const VectorMemory xs, MemoryOf(x));
    ISO_ASSIGN_OR_RETURN(const VectorMemory ys, MemoryOf(y));
    return DotOfRuns(xs, ys, xs.runs);
  }
  absl::StatusOr<double> DoDotOfRows(const ops::ProjectionStack& x, const ops::ProjectionStack& y,
                                     RowRange rows) override {
    ISO_ASSIGN_OR_RETURN(const VectorMemory xs, MemoryOf(x));
    ISO_ASSIGN_OR_RETURN(const VectorMemory ys, MemoryOf(y));
    return DotOfRuns(xs, ys, RunsOfRows(xs, rows));
  }

  absl::Status DoAddRows(const ops::ProjectionStack& from, RowRange rows, int to_row,
                         ops::ProjectionStack& to) override;
  absl::Status DoCopySlices(const ops::VolumeBuffer& from, int from_slice, int slices,
                            ops::VolumeBuffer& to, int to_slice) override;

 private:
  absl::Status Apply(RunFunction function, double a, double b, const ops::Vector* w,
                     const ops::Vector* x, ops::Vector& y);
  double DotOfRuns(const VectorMemory& x, const VectorMemory& y, const Runs& runs);
  void CopyToOtherUse(const VectorMemory& x, const VectorMemory& y);

  std::shared_ptr<ThreadPool> pool_;
};

absl::Status ArithmeticSimd::Apply(RunFunction function, double a, double b, const ops::Vector* w,
                                   const ops::Vector* x, ops::Vector& y) {
  ISO_ASSIGN_OR_RETURN(const VectorMemory ys, MemoryOf(y));
  const auto operand = [&](const ops::Vector* vector) -> absl::StatusOr<const float*> {
    if (vector == nullptr) return nullptr;
    ISO_ASSIGN_OR_RETURN(const VectorMemory memory, MemoryOf(*vector));
    return memory.data;
  };
  ISO_ASSIGN_OR_RETURN(const float* const ws, operand(w));
  ISO_ASSIGN_OR_RETURN(const float* const xs, operand(x));
  ForEachRun(*pool_, ys.runs, [&](int64_t run, int64_t) {
    const int64_t at = ys.runs.Offset(run);
    function({.a = static_cast<float>(a),
              .b = static_cast<float>(b),
              .w = ws == nullptr ? nullptr : ws + at,
              .x = xs == nullptr ? nullptr : xs + at,
              .y = Mutable(ys) + at,
              .length = ys.runs.length});
  });
  return absl::OkStatus();
}

absl::Status ArithmeticSimd::DoBend(const ops::HounsfieldHinges& hinges, ops::Vector& y) {
  ISO_ASSIGN_OR_RETURN(const VectorMemory ys, MemoryOf(y));
  const auto bend = HWY_DYNAMIC_DISPATCH(Bend);
  ForEachRun(*pool_, ys.runs, [&](int64_t run, int64_t) {
    bend(hinges, Mutable(ys) + ys.runs.Offset(run), ys.runs.length);
  });
  return absl::OkStatus();
}

double ArithmeticSimd::DotOfRuns(const VectorMemory& x, const VectorMemory& y, const Runs& runs) {
  std::vector<LaneSums> sums(static_cast<size_t>(Parts(runs)));
  const auto dot = HWY_DYNAMIC_DISPATCH(Dot);
  ForEachRun(*pool_, runs, [&](int64_t run, int64_t part) {
    const int64_t at = runs.Offset(run);
    dot(x.data + at, y.data + at, runs.length, sums[part]);
  });
  return Total(sums);
}

absl::Status ArithmeticSimd::DoCopy(const ops::Vector& x, ops::Vector& y) {
  ISO_ASSIGN_OR_RETURN(const VectorMemory xs, MemoryOf(x));
  ISO_ASSIGN_OR_RETURN(const VectorMemory ys, MemoryOf(y));
  if (xs.use.has_value() && ys.use.has_value() && *xs.use != *ys.use) {
    CopyToOtherUse(xs, ys);
    return absl::OkStatus();
  }
  return Apply(HWY_DYNAMIC_DISPATCH(Copy), 0, 0, nullptr, &x, y);
}

void ArithmeticSimd::CopyToOtherUse(const VectorMemory& x, const VectorMemory& y) {
  const RowLayout row_layout(x.shape);
  const ColumnLayout column_layout(x.shape);
  const int64_t rows = x.shape.middle, columns = x.shape.fast;
  // A strip of columns at a time: their cache lines are used whole before they are evicted.
  constexpr int64_t kStripColumns = 64;
  const int64_t strips = (columns + kStripColumns - 1) / kStripColumns;
  pool_->ParallelFor(x.shape.slow * strips, [&](int64_t index, int) {
    const int64_t view = index / strips, u = index % strips * kStripColumns;
    const int64_t width = std::min(kStripColumns, columns - u);
    const int64_t in_rows = view * row_layout.view_stride + u;
    const int64_t in_columns =
        view * column_layout.view_stride + column_layout.first + u * column_layout.column_stride;
    if (*x.use == ops::StackUse::kLineIntegrals) {
      Transpose(x.data + in_rows, row_layout.row_stride, rows, width, Mutable(y) + in_columns,
                column_layout.column_stride);
    } else {
      Transpose(x.data + in_columns, column_layout.column_stride, width, rows, Mutable(y) + in_rows,
                row_layout.row_stride);
    }
  });
}

absl::Status ArithmeticSimd::DoAddRows(const ops::ProjectionStack& from, RowRange rows, int to_row,
                                       ops::ProjectionStack& to) {
  ISO_ASSIGN_OR_RETURN(const VectorMemory xs, MemoryOf(from));
  ISO_ASSIGN_OR_RETURN(const VectorMemory ys, MemoryOf(to));
  const Runs x_runs = RunsOfRows(xs, rows), y_runs = RunsOfRows(ys, {to_row, rows.count});
  const auto add = HWY_DYNAMIC_DISPATCH(Axpby);
  ForEachRun(*pool_, y_runs, [&](int64_t run, int64_t) {
    add({.a = 1,
         .b = 1,
         .x = xs.data + x_runs.Offset(run),
         .y = Mutable(ys) + y_runs.Offset(run),
         .length = rows.count});
  });
  return absl::OkStatus();
}

absl::Status ArithmeticSimd::DoCopySlices(const ops::VolumeBuffer& from, int from_slice, int slices,
                                          ops::VolumeBuffer& to, int to_slice) {
  ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(from));
  ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(to));
  const VolumeGrid& grid = target->grid();
  const VolumeLayout x_layout(source->grid()), y_layout(grid);
  pool_->ParallelFor(grid.ny, [&](int64_t y, int) {
    const float* const x_row = source->data() + y * x_layout.row_stride + from_slice;
    float* const y_row = target->data() + y * y_layout.row_stride + to_slice;
    for (int64_t x = 0; x < grid.nx; ++x) {
      std::copy_n(x_row + x * x_layout.column_stride, slices, y_row + x * y_layout.column_stride);
    }
  });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<ArithmeticSimd>(own->pool());
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
