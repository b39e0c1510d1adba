#include <algorithm>
#include <cstdint>

#include "kernels/cpu/corrections/methods.h"
#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/corrections/normalize_counts.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Writes whole vectors: all but the counts are padded to cache lines.
void NormalizeRow(const uint16_t* HWY_RESTRICT counts, const float* HWY_RESTRICT offset,
                  const float* HWY_RESTRICT inverse_air, int64_t columns, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  const hn::Rebind<int32_t, decltype(d)> d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN uint16_t last[HWY_MAX_BYTES / sizeof(float)] = {};
  for (int64_t u = 0; u < columns; u += lanes) {
    const uint16_t* values = counts + u;
    if (u + lanes > columns) {
      std::copy(values, counts + columns, last);
      values = last;
    }
    const auto count = hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d16, values)));
    hn::Store(hn::Mul(hn::Sub(count, hn::Load(d, offset + u)), hn::Load(d, inverse_air + u)), d,
              out + u);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(NormalizeRow);

constexpr int64_t kRowsOfPart = 32;

// Offsets, and behind them what counts above them are multiplied with, in RowLayout.
int64_t MapFloats(const Detector& detector) {
  return 2 * RowLayout::Floats({1, detector.rows, detector.columns});
}

class NormalizeCountsSimd final : public ops::NormalizeCounts {
 public:
  NormalizeCountsSimd(const ops::Calibration& calibration, std::shared_ptr<ThreadPool> pool,
                      DeviceMemory maps)
      : NormalizeCounts(calibration.detector),
        layout_({1, detector().rows, detector().columns}),
        pool_(std::move(pool)),
        maps_(std::move(maps)) {
    std::fill_n(maps_.data(), maps_.floats(), 0.f);
    for (int64_t v = 0; v < detector().rows; ++v) {
      for (int64_t u = 0; u < detector().columns; ++u) {
        const size_t pixel = v * detector().columns + u;
        offset(v)[u] = calibration.response->offset_counts[pixel];
        inverse_air(v)[u] = 1 / calibration.response->air_counts[pixel];
      }
    }
  }

 private:
  absl::Status DoRun(StridedView3<const uint16_t> counts, ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out));
    const Shape3 shape = counts.shape();
    const auto normalize = HWY_DYNAMIC_DISPATCH(NormalizeRow);
    const int64_t parts = (shape.middle + kRowsOfPart - 1) / kRowsOfPart;
    pool_->ParallelFor(shape.slow * parts, [&](int64_t index, int) {
      const int64_t view = index / parts, first = index % parts * kRowsOfPart;
      for (int64_t v = first; v < std::min(first + kRowsOfPart, shape.middle); ++v) {
        float* row = stack->data() + view * layout_.view_stride + v * layout_.row_stride;
        normalize(counts.row(view, v), offset(v), inverse_air(v), shape.fast, row);
      }
    });
    return absl::OkStatus();
  }

  float* offset(int64_t v) { return maps_.data() + v * layout_.row_stride; }
  float* inverse_air(int64_t v) { return offset(v) + layout_.view_stride; }

  const RowLayout layout_;
  const std::shared_ptr<ThreadPool> pool_;
  DeviceMemory maps_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::NormalizeCounts>> NewNormalizeCounts(
    ops::Session& session, const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  ISO_ASSIGN_OR_RETURN(DeviceMemory maps,
                       DeviceMemory::Create(own->budget(), MapFloats(calibration.detector)));
  return std::make_unique<NormalizeCountsSimd>(calibration, own->pool(), std::move(maps));
}

int64_t NormalizeCountsBytes(const ops::Device&, const ops::Extents&,
                             const ops::Calibration& calibration) {
  return MapFloats(calibration.detector) * static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
