#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/device/transpose.h"
#include "kernels/cpu/fanbeam/methods.h"
#include "kernels/cpu/fdk/convolution_plan.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fanbeam/filter_fft.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/fdk/convolution-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

int64_t FanBeamRowsPerBatch() { return 2 * static_cast<int64_t>(hn::Lanes(D())); }

void ConvolveFanBeamRows(const ConvolutionPlan& plan, float* data) { Convolve(plan, data); }

// weighted = row * weights, numbers alone.
void WeightFanBeamRow(const float* HWY_RESTRICT row, const float* HWY_RESTRICT weights,
                      int64_t channels, float* HWY_RESTRICT weighted) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    const auto product = hn::Mul(hn::LoadU(d, row + c), hn::LoadU(d, weights + c));
    hn::StoreU(hn::IfThenElseZero(hn::IsFinite(product), product), d, weighted + c);
  }
  for (; c < channels; ++c) {
    const float product = row[c] * weights[c];
    weighted[c] = std::isfinite(product) ? product : 0;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(FanBeamRowsPerBatch);
HWY_EXPORT(ConvolveFanBeamRows);
HWY_EXPORT(WeightFanBeamRow);

int TransformLength(const ops::FanBeamFilterSpec& spec) {
  return ConvolutionLength(2 * spec.geometry.channels);
}

// What one thread works with: the transform's values, the rows of a batch, a view's weights.
struct Scratch {
  explicit Scratch(const ops::FanBeamFilterSpec& spec)
      : batch(HWY_DYNAMIC_DISPATCH(FanBeamRowsPerBatch)()),
        row_stride(RoundUpToLine(spec.geometry.channels)),
        rows(RoundUpToLine(TransformLength(spec) * batch)),
        weights(rows + batch * row_stride),
        floats(weights + row_stride) {}
  int64_t batch, row_stride;
  int64_t rows, weights, floats;
};

class FilterFft final : public ops::FanBeamFilter {
 public:
  FilterFft(const CpuSession& session, const ops::FanBeamFilterSpec& spec)
      : FanBeamFilter(spec),
        pool_(session.pool()),
        budget_(session.budget()),
        weights_(spec.geometry),
        plan_(MakeConvolutionPlan(TransformLength(spec),
                                  ops::FanBeamResponse(spec, TransformLength(spec)))) {}

  absl::Status DoRun(int first_view, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    const Shape3& shape = in->shape();
    const Scratch sizes(spec());
    ISO_RETURN_IF_ERROR(DeviceMemory::Reserve(budget_, sizes.floats * pool_->threads(), scratch_));
    // The rows of all views and slices follow each other at the same distance.
    const int64_t rows = shape.slow * shape.middle;
    pool_->ParallelFor((rows + sizes.batch - 1) / sizes.batch, [&](int64_t index, int worker) {
      const int64_t first = index * sizes.batch;
      FilterBatch(*in, first_view, first, std::min(sizes.batch, rows - first), sizes,
                  scratch_->data() + worker * sizes.floats, *out);
    });
    return absl::OkStatus();
  }

 private:
  void FilterBatch(const Stack& in, int first_view, int64_t first, int64_t count,
                   const Scratch& sizes, float* scratch, Stack& out) const {
    const Shape3& shape = in.shape();
    const RowLayout layout(shape);
    const auto weight = HWY_DYNAMIC_DISPATCH(WeightFanBeamRow);
    float* const rows = scratch + sizes.rows;
    float* const weights = scratch + sizes.weights;
    std::vector<double> exact(shape.fast);
    int64_t weighted_view = -1;
    for (int64_t row = first; row < first + count; ++row) {
      if (const int64_t view = row / shape.middle; view != weighted_view) {
        weights_.Row(static_cast<int>(first_view + view), exact);
        std::ranges::copy(exact, weights);
        weighted_view = view;
      }
      weight(in.data() + row * layout.row_stride, weights, shape.fast,
             rows + (row - first) * sizes.row_stride);
    }
    std::fill_n(scratch, sizes.rows, 0.0f);
    Transpose(rows, sizes.row_stride, count, shape.fast, scratch, sizes.batch);
    HWY_DYNAMIC_DISPATCH(ConvolveFanBeamRows)(plan_, scratch);
    Transpose(scratch, sizes.batch, shape.fast, count, out.data() + first * layout.row_stride,
              layout.row_stride);
  }

  std::shared_ptr<ThreadPool> pool_;
  std::shared_ptr<ops::MemoryBudget> budget_;
  const ops::FanBeamRowWeights weights_;
  const ConvolutionPlan plan_;
  std::optional<DeviceMemory> scratch_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilterFft(
    ops::Session& session, const ops::FanBeamFilterSpec& spec) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  ISO_RETURN_IF_ERROR(ops::CheckFanBeamFilter(spec));
  return std::make_unique<FilterFft>(*own, spec);
}

int64_t FanBeamFilterFftBytes(const ops::Device& device, const ops::Extents&,
                              const ops::FanBeamFilterSpec& spec) {
  return Scratch(spec).floats * device.limits().threads * static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
