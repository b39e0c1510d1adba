#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/fdk/methods.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fdk/preprocess.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h: this header, too, is compiled once per target.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

#ifndef ISOCENTER_CPU_PREPROCESS_ROW
#define ISOCENTER_CPU_PREPROCESS_ROW
namespace isocenter::cpu {

// One detector row. The ray through column u, divided by the length of its normal component, is
// start + u · step; of length 1 everywhere where no cosine weight is wanted.
struct PreprocessRow {
  float start[3] = {};
  float step[3] = {};
  const float* weight;  // [u]
  int64_t columns;
  float lowest = 1, inverse_i0 = 1;  // of counts
};

}  // namespace isocenter::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V LineIntegrals(D d, const uint16_t* counts, const PreprocessRow& row) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<int32_t, D> d32;
  const V count = hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d16, counts)));
  const V ratio = hn::Mul(hn::Max(count, hn::Set(d, row.lowest)), hn::Set(d, row.inverse_i0));
  return hn::Neg(hn::Log(d, ratio));
}

HWY_INLINE V LineIntegrals(D d, const float* integrals, const PreprocessRow&) {
  const V value = hn::LoadU(d, integrals);
  return hn::IfThenElseZero(hn::IsFinite(value), value);
}

// Writes whole vectors: `out` is padded to cache lines; `in` and row.weight are copied at the end.
template <class T>
HWY_INLINE void WeightRow(const T* HWY_RESTRICT in, const PreprocessRow& row,
                          float* HWY_RESTRICT out) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T last_in[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN float last_weight[HWY_MAX_BYTES / sizeof(float)] = {};
  for (int64_t u = 0; u < row.columns; u += lanes) {
    const T* values = in + u;
    const float* weights = row.weight + u;
    if (u + lanes > row.columns) {
      std::copy(values, in + row.columns, last_in);
      std::copy(weights, row.weight + row.columns, last_weight);
      values = last_in;
      weights = last_weight;
    }
    const V position = hn::Iota(d, static_cast<float>(u));
    const V x = hn::MulAdd(position, hn::Set(d, row.step[0]), hn::Set(d, row.start[0]));
    const V y = hn::MulAdd(position, hn::Set(d, row.step[1]), hn::Set(d, row.start[1]));
    const V z = hn::MulAdd(position, hn::Set(d, row.step[2]), hn::Set(d, row.start[2]));
    const V square = hn::MulAdd(x, x, hn::MulAdd(y, y, hn::Mul(z, z)));
    const V weight = hn::Div(hn::LoadU(d, weights), hn::Sqrt(square));
    hn::Store(hn::Mul(LineIntegrals(d, values, row), weight), d, out + u);
  }
}

void WeightCounts(const uint16_t* in, const PreprocessRow& row, float* out) {
  WeightRow(in, row, out);
}
void WeightIntegrals(const float* in, const PreprocessRow& row, float* out) {
  WeightRow(in, row, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(WeightCounts);
HWY_EXPORT(WeightIntegrals);

class PreprocessSimd final : public ops::Preprocess {
 public:
  explicit PreprocessSimd(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  absl::Status DoRun(const ops::RawFrames& frames, const ops::CountRange& range,
                     std::span<const ops::ViewWeights> weights, int64_t first_column,
                     ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out));
    const auto weight_counts = HWY_DYNAMIC_DISPATCH(WeightCounts);
    const auto weight_integrals = HWY_DYNAMIC_DISPATCH(WeightIntegrals);
    ForRows(frames.shape(), weights, first_column, *stack,
            [&](int64_t view, int64_t v, PreprocessRow& row, float* target) {
              row.lowest = static_cast<float>(range.lowest);
              row.inverse_i0 = static_cast<float>(1 / range.i0);
              if (frames.counts) {
                weight_counts(frames.counts.row(view, v), row, target);
              } else {
                weight_integrals(frames.line_integrals.row(view, v), row, target);
              }
            });
    return absl::OkStatus();
  }

  absl::Status DoWeigh(const ops::ProjectionStack& line_integrals, int64_t first_view,
                       RowRange rows, std::span<const ops::ViewWeights> weights,
                       int64_t first_column, ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(const Stack* source, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out));
    const RowLayout layout(source->shape());
    const auto weight_integrals = HWY_DYNAMIC_DISPATCH(WeightIntegrals);
    ForRows({static_cast<int64_t>(weights.size()), rows.count, source->shape().fast}, weights,
            first_column, *stack, [&](int64_t view, int64_t v, PreprocessRow& row, float* target) {
              weight_integrals(source->data() + (first_view + view) * layout.view_stride +
                                   (rows.first + v) * layout.row_stride,
                               row, target);
            });
    return absl::OkStatus();
  }

 private:
  // Calls weigh(view, v, row, target) for all rows, of which the columns beside the frame are 0.
  template <class Weigh>
  void ForRows(const Shape3& shape, std::span<const ops::ViewWeights> weights, int64_t first_column,
               Stack& out, const Weigh& weigh) {
    const RowLayout layout(out.shape());
    constexpr int64_t kRows = 32;
    const int64_t parts = (shape.middle + kRows - 1) / kRows;
    pool_->ParallelFor(shape.slow * parts, [&](int64_t index, int) {
      const int64_t view = index / parts, first = index % parts * kRows;
      const ProjectionMatrix& matrix = weights[view].matrix;
      const std::array<double, 9> inverse = InverseLeft(matrix);
      const double scale = Norm({matrix(2, 0), matrix(2, 1), matrix(2, 2)});
      for (int64_t v = first; v < std::min(first + kRows, shape.middle); ++v) {
        PreprocessRow row{.weight = weights[view].column_weight.data(), .columns = shape.fast};
        if (weights[view].cosine) {
          for (int axis = 0; axis < 3; ++axis) {
            row.start[axis] = static_cast<float>(
                scale * (inverse[3 * axis + 1] * static_cast<double>(v) + inverse[3 * axis + 2]));
            row.step[axis] = static_cast<float>(scale * inverse[3 * axis]);
          }
        } else {
          row.start[0] = 1;
        }
        float* whole = out.data() + view * layout.view_stride + v * layout.row_stride;
        float* target = whole + first_column;
        std::fill(whole, target, 0.f);
        std::fill(target + shape.fast, whole + out.shape().fast, 0.f);
        weigh(view, v, row, target);
      }
    });
  }

  std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Preprocess>> NewPreprocess(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<PreprocessSimd>(own->pool());
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
