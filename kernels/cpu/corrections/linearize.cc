#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/corrections/methods.h"
#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/corrections/linearize.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h: this header, too, is compiled once per target.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/cpu/corrections/water_polynomial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows are padded to cache lines. `coefficient`: of p, p² and so on; none: p. `hardness`: what is
// added to p, and behind it, `columns` padded, what the polynomial makes of that alone; or nullptr.
void LinearizeRow(float inverse_dose, float least, const float* coefficient, int coefficients,
                  const float* hardness, int64_t hardness_stride, int64_t columns, float* pixels) {
  const hn::ScalableTag<float> d;
  const auto floor = hn::Set(d, least);
  for (int64_t u = 0; u < columns; u += static_cast<int64_t>(hn::Lanes(d))) {
    auto ratio = hn::Mul(hn::Load(d, pixels + u), hn::Set(d, inverse_dose));
    ratio = hn::IfThenElse(hn::IsFinite(ratio), hn::Max(ratio, floor), floor);
    auto p = hn::Neg(hn::Log(d, ratio));
    if (hardness != nullptr) p = hn::Add(p, hn::Load(d, hardness + u));
    auto value = WaterOf(d, coefficient, coefficients, p);
    if (hardness != nullptr) value = hn::Sub(value, hn::Load(d, hardness + hardness_stride + u));
    hn::Store(value, d, pixels + u);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(LinearizeRow);

// Of a row: hardness, and behind it what the polynomial makes of it.
int64_t HardnessStride(const ops::Calibration& calibration) {
  return RowLayout::Floats({1, 1, calibration.detector.columns});
}

class LinearizeSimd final : public ops::Linearize {
 public:
  LinearizeSimd(const ops::Calibration& calibration, std::shared_ptr<ThreadPool> pool,
                std::optional<DeviceMemory> hardness)
      : coefficient_(calibration.water.coefficient.begin(), calibration.water.coefficient.end()),
        pool_(std::move(pool)),
        hardness_stride_(HardnessStride(calibration)),
        hardness_(std::move(hardness)) {
    if (!hardness_) return;
    std::fill_n(hardness_->data(), hardness_->floats(), 0.f);
    for (size_t u = 0; u < calibration.water.hardness.size(); ++u) {
      const float h = calibration.water.hardness[u];
      float of_h = 0;
      for (size_t n = coefficient_.size(); n > 0; --n) of_h = (of_h + coefficient_[n - 1]) * h;
      hardness_->data()[u] = h;
      hardness_->data()[hardness_stride_ + static_cast<int64_t>(u)] = of_h;
    }
  }

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& doses,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* dose, AsStack(doses));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape();
    const RowLayout layout(shape), dose_layout(dose->shape());
    const auto linearize = HWY_DYNAMIC_DISPATCH(LinearizeRow);
    const auto least = static_cast<float>(std::exp(-ops::kLongestLineIntegral));
    pool_->ParallelFor(views * shape.middle, [&](int64_t row, int) {
      const int64_t view = row / shape.middle, v = row % shape.middle;
      linearize(1 / dose->data()[view * dose_layout.view_stride], least, coefficient_.data(),
                static_cast<int>(coefficient_.size()), hardness_ ? hardness_->data() : nullptr,
                hardness_stride_, shape.fast,
                stack->data() + view * layout.view_stride + v * layout.row_stride);
    });
    return absl::OkStatus();
  }

  const std::vector<float> coefficient_;
  const std::shared_ptr<ThreadPool> pool_;
  const int64_t hardness_stride_;
  std::optional<DeviceMemory> hardness_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Linearize>> NewLinearize(ops::Session& session,
                                                             const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  std::optional<DeviceMemory> hardness;
  if (!calibration.water.hardness.empty()) {
    ISO_RETURN_IF_ERROR(
        DeviceMemory::Reserve(own->budget(), 2 * HardnessStride(calibration), hardness));
  }
  return std::make_unique<LinearizeSimd>(calibration, own->pool(), std::move(hardness));
}

int64_t LinearizeBytes(const ops::Device&, const ops::Extents&,
                       const ops::Calibration& calibration) {
  if (calibration.water.hardness.empty()) return 0;
  return 2 * HardnessStride(calibration) * static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
