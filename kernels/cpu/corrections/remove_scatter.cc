#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cpu/corrections/second_pass_methods.h"
#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/corrections/remove_scatter.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h: this header, too, is compiled once per target.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/cpu/corrections/water_polynomial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows are padded to cache lines. `scatter` of each pixel; `coefficient`: of p, p² and so on; none:
// p.
void RemoveScatterRow(const float* scatter, const float* coefficient, int coefficients,
                      int64_t columns, float* pixels) {
  const hn::ScalableTag<float> d;
  const auto one = hn::Set(d, 1.f);
  const auto floor = hn::Set(d, static_cast<float>(ops::kLeastUnscattered));
  const auto most = hn::Set(d, static_cast<float>(ops::kLongestLineIntegral));
  for (int64_t u = 0; u < columns; u += static_cast<int64_t>(hn::Lanes(d))) {
    const auto measured = hn::Load(d, pixels + u);
    const auto share = hn::NegMulAdd(hn::LoadU(d, scatter + u), hn::Exp(d, measured), one);
    const auto p = hn::Min(hn::Sub(measured, hn::Log(d, hn::Max(share, floor))), most);
    hn::Store(WaterOf(d, coefficient, coefficients, p), d, pixels + u);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(RemoveScatterRow);

// Two neighbouring cells, and how much the second one counts.
struct Between {
  int64_t first = 0, second = 0;
  float share = 0;
};

Between CellsOf(int64_t pixel, int64_t pixels, int64_t cells) {
  const float at =
      (static_cast<float>(pixel) + 0.5f) * static_cast<float>(cells) / static_cast<float>(pixels) -
      0.5f;
  const float within = std::clamp(at, 0.f, static_cast<float>(cells - 1));
  const auto first = static_cast<int64_t>(within);
  return {first, std::min(first + 1, cells - 1), within - static_cast<float>(first)};
}

class RemoveScatter final : public ops::RemoveScatter {
 public:
  RemoveScatter(const ops::Calibration& calibration, std::shared_ptr<ThreadPool> pool)
      : coefficient_(calibration.water.coefficient.begin(), calibration.water.coefficient.end()),
        pool_(std::move(pool)),
        rows_(pool_->threads()) {}

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& scatter,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* cells, AsStack(scatter));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape(), coarse = cells->shape();
    const RowLayout layout(shape), coarse_layout(coarse);
    std::vector<Between> columns(shape.fast);
    for (int64_t u = 0; u < shape.fast; ++u) columns[u] = CellsOf(u, shape.fast, coarse.fast);
    const auto remove = HWY_DYNAMIC_DISPATCH(RemoveScatterRow);
    pool_->ParallelFor(views * shape.middle, [&](int64_t row, int worker) {
      const int64_t view = row / shape.middle, v = row % shape.middle;
      const Between down = CellsOf(v, shape.middle, coarse.middle);
      const float* const first = cells->data() + view * coarse_layout.view_stride;
      const float* const upper = first + down.first * coarse_layout.row_stride;
      const float* const lower = first + down.second * coarse_layout.row_stride;
      std::vector<float>& here = rows_[worker];
      here.resize(layout.row_stride);
      for (int64_t u = 0; u < shape.fast; ++u) {
        const Between& across = columns[u];
        const auto mixed = [&](const float* line) {
          return line[across.first] + across.share * (line[across.second] - line[across.first]);
        };
        const float above = mixed(upper);
        here[u] = above + down.share * (mixed(lower) - above);
      }
      remove(here.data(), coefficient_.data(), static_cast<int>(coefficient_.size()), shape.fast,
             stack->data() + view * layout.view_stride + v * layout.row_stride);
    });
    return absl::OkStatus();
  }

  const std::vector<float> coefficient_;
  const std::shared_ptr<ThreadPool> pool_;
  std::vector<std::vector<float>> rows_;  // of each worker: scatter of its pixels
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RemoveScatter>> NewRemoveScatter(
    ops::Session& session, const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<RemoveScatter>(calibration, own->pool());
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
