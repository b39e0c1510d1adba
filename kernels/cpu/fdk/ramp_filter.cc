#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/device/transpose.h"
#include "kernels/cpu/fdk/convolution_plan.h"
#include "kernels/cpu/fdk/cut_rows_plan.h"
#include "kernels/cpu/fdk/methods.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fdk/ramp_filter.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/fdk/convolution-inl.h"
#include "kernels/cpu/fdk/cut_rows-inl.h"

#ifndef ISOCENTER_CPU_RAMP_FILTER_BATCH
#define ISOCENTER_CPU_RAMP_FILTER_BATCH
namespace isocenter::cpu {

// The rows of one transform: as many as two vectors have lanes.
struct RowBatch {
  const ConvolutionPlan* plan;
  const CutRowsPlan* cut_rows;
  const float* in;  // first row
  int64_t in_stride;
  int64_t rows;  // at most RowsPerBatch
  int64_t columns;
  float* out;  // (column 0, first row); columns are out_stride apart
  int64_t out_stride;
  float* scratch;  // plan->n values of RowsPerBatch floats, on a cache line
};

}  // namespace isocenter::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

int64_t RowsPerBatch() { return 2 * static_cast<int64_t>(hn::Lanes(D())); }

// Lane l of the real parts is row l, of the imaginary parts row lanes + l: after the transform the
// lanes of a value are neighbouring rows of one column, which is how the filtered stack stores
// them.
void FilterBatch(const RowBatch& batch) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t pair = 2 * lanes;
  float* const row = batch.scratch + batch.cut_rows->extension * pair;
  std::fill(batch.scratch, batch.scratch + batch.plan->n * pair, 0.0f);
  Transpose(batch.in, batch.in_stride, batch.rows, batch.columns, row, pair);
  for (int64_t part = 0; part < pair; part += lanes) {
    cut_rows::Prepare(*batch.cut_rows, row + part, pair);
  }
  Convolve(*batch.plan, batch.scratch);

  // Rows behind the last are the zero margin of the stack: they are written as zeros, up to the end
  // of the vector in which the detector ends.
  for (int64_t part = 0; part < pair; part += lanes) {
    const int64_t used = std::min(batch.rows - part, lanes);
    if (used <= 0) break;
    const auto valid = hn::FirstN(d, static_cast<size_t>(used));
    for (int64_t u = 0; u < batch.columns; ++u) {
      hn::Store(hn::IfThenElseZero(valid, hn::Load(d, row + u * pair + part)), d,
                batch.out + u * batch.out_stride + part);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(RowsPerBatch);
HWY_EXPORT(FilterBatch);

int64_t TransformLength(const ops::RampFilterSpec& spec) {
  return ConvolutionLength(ops::MinimumTransformLength(spec));
}

// Of one thread.
int64_t ScratchFloats(int64_t transform_length) {
  return RoundUpToLine(transform_length * HWY_DYNAMIC_DISPATCH(RowsPerBatch)());
}

class RampFilterFft final : public ops::RampFilter {
 public:
  RampFilterFft(const CpuSession& session, const ops::RampFilterSpec& spec)
      : RampFilter(spec),
        pool_(session.pool()),
        budget_(session.budget()),
        cut_rows_(MakeCutRowsPlan(spec)) {
    const auto n = static_cast<int>(TransformLength(spec));
    plan_ = MakeConvolutionPlan(n, ops::RampFilterResponse(spec, n));
  }

  absl::Status DoRun(int views, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    const int64_t rows = std::min<int64_t>(spec().rows, in->shape().middle);
    const RowLayout lines(in->shape());
    const ColumnLayout columns(out->shape());
    const int64_t batch_rows = HWY_DYNAMIC_DISPATCH(RowsPerBatch)();
    const auto filter = HWY_DYNAMIC_DISPATCH(FilterBatch);
    const int64_t scratch_floats = ScratchFloats(plan_.n);
    ISO_RETURN_IF_ERROR(
        DeviceMemory::Reserve(budget_, scratch_floats * pool_->threads(), scratch_));
    const int64_t batches = (rows + batch_rows - 1) / batch_rows;
    pool_->ParallelFor(views * batches, [&](int64_t index, int worker) {
      const int64_t view = index / batches, first = index % batches * batch_rows;
      filter({.plan = &plan_,
              .cut_rows = &cut_rows_,
              .in = in->data() + view * lines.view_stride + first * lines.row_stride,
              .in_stride = lines.row_stride,
              .rows = std::min(batch_rows, rows - first),
              .columns = spec().columns,
              .out = out->data() + view * columns.view_stride + columns.first + first,
              .out_stride = columns.column_stride,
              .scratch = scratch_->data() + worker * scratch_floats});
    });
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  std::shared_ptr<ops::MemoryBudget> budget_;
  CutRowsPlan cut_rows_;
  ConvolutionPlan plan_;
  std::optional<DeviceMemory> scratch_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilter(ops::Session& session,
                                                               const ops::RampFilterSpec& spec) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  ISO_RETURN_IF_ERROR(ops::CheckRampFilter(spec));
  return std::make_unique<RampFilterFft>(*own, spec);
}

int64_t RampFilterBytes(const ops::Device& device, const ops::Extents&,
                        const ops::RampFilterSpec& spec) {
  return ScratchFloats(TransformLength(spec)) * device.limits().threads *
         static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
