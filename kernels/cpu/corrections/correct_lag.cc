#include <algorithm>
#include <cstdint>

#include "kernels/cpu/corrections/methods.h"
#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/corrections/correct_lag.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef ISOCENTER_CPU_LAG_STEP
#define ISOCENTER_CPU_LAG_STEP
namespace isocenter::cpu {

struct LagStep {
  float inverse_passed = 1;  // 1 / (1 - Σ share)
  int terms = 0;
  float share[ops::kMostLagTerms] = {};
  float release[ops::kMostLagTerms] = {};
};

}  // namespace isocenter::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// One row of one frame; kept[n · row_stride + u] is what the pixels keep back for term n. All rows
// are padded to cache lines.
void LagRow(const LagStep& step, int64_t columns, int64_t row_stride, float* HWY_RESTRICT kept,
            float* HWY_RESTRICT pixels) {
  const hn::ScalableTag<float> d;
  for (int64_t u = 0; u < columns; u += static_cast<int64_t>(hn::Lanes(d))) {
    auto exposed = hn::Load(d, pixels + u);
    for (int n = 0; n < step.terms; ++n) {
      exposed = hn::NegMulAdd(hn::Set(d, step.release[n]), hn::Load(d, kept + n * row_stride + u),
                              exposed);
    }
    exposed = hn::Mul(exposed, hn::Set(d, step.inverse_passed));
    hn::Store(exposed, d, pixels + u);
    for (int n = 0; n < step.terms; ++n) {
      float* kept_back = kept + n * row_stride + u;
      const auto before = hn::Load(d, kept_back);
      const auto left = hn::NegMulAdd(hn::Set(d, step.release[n]), before, before);
      hn::Store(hn::MulAdd(hn::Set(d, step.share[n]), exposed, left), d, kept_back);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(LagRow);

int64_t KeptFloats(const ops::Calibration& calibration) {
  const Detector& detector = calibration.detector;
  const int64_t terms = std::max<int64_t>(1, static_cast<int64_t>(calibration.lag.size()));
  return RowLayout::Floats({terms, detector.rows, detector.columns});
}

LagStep StepOf(const std::vector<ops::LagTerm>& lag) {
  LagStep step{.terms = static_cast<int>(lag.size())};
  double passed = 1;
  for (size_t n = 0; n < lag.size(); ++n) {
    step.share[n] = static_cast<float>(lag[n].share);
    step.release[n] = static_cast<float>(lag[n].release);
    passed -= lag[n].share;
  }
  step.inverse_passed = static_cast<float>(1 / passed);
  return step;
}

class CorrectLagSimd final : public ops::CorrectLag {
 public:
  CorrectLagSimd(const ops::Calibration& calibration, std::shared_ptr<ThreadPool> pool,
                 DeviceMemory kept)
      : CorrectLag(calibration.detector),
        step_(StepOf(calibration.lag)),
        layout_({1, detector().rows, detector().columns}),
        pool_(std::move(pool)),
        kept_(std::move(kept)) {}

  absl::Status Restart() override {
    std::fill_n(kept_.data(), kept_.floats(), 0.f);
    return absl::OkStatus();
  }

 private:
  // Rows side by side, the frames of each in their order.
  absl::Status DoRun(int64_t views, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const auto correct = HWY_DYNAMIC_DISPATCH(LagRow);
    pool_->ParallelFor(detector().rows, [&](int64_t v, int) {
      float* kept = kept_.data() + v * layout_.row_stride * step_.terms;
      for (int64_t view = 0; view < views; ++view) {
        correct(step_, detector().columns, layout_.row_stride, kept,
                stack->data() + view * layout_.view_stride + v * layout_.row_stride);
      }
    });
    return absl::OkStatus();
  }

  const LagStep step_;
  const RowLayout layout_;
  const std::shared_ptr<ThreadPool> pool_;
  DeviceMemory kept_;  // [v][term][u]
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectLag>> NewCorrectLag(
    ops::Session& session, const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  ISO_ASSIGN_OR_RETURN(DeviceMemory kept,
                       DeviceMemory::Create(own->budget(), KeptFloats(calibration)));
  auto correction = std::make_unique<CorrectLagSimd>(calibration, own->pool(), std::move(kept));
  ISO_RETURN_IF_ERROR(correction->Restart());
  return correction;
}

int64_t CorrectLagBytes(const ops::Device&, const ops::Extents&,
                        const ops::Calibration& calibration) {
  return KeptFloats(calibration) * static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
