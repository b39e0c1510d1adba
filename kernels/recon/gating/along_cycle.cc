#include "kernels/recon/gating/along_cycle.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::recon {
namespace {

// Information goes from a phase to the next in a step, and the momentum takes it around the cycle
// in a few times as many: tests hold the result against the minimum.
int StepsFor(int phases) { return 60 + 12 * phases; }

/// Rows of all phases, [phase][x], and their dual variables: of p that between p and p + 1.
class Rows {
 public:
  Rows(int phases, int64_t width)
      : phases_(phases), width_(width), y_(phases * width), x_(y_), dual_(y_), ahead_(y_) {}

  float* y(int phase) { return y_.data() + phase * width_; }
  const float* x(int phase) const { return x_.data() + phase * width_; }

  void Minimise(float strength) {
    std::fill(dual_.begin(), dual_.end(), 0.0F);
    std::fill(ahead_.begin(), ahead_.end(), 0.0F);
    double t = 1;
    for (int step = StepsFor(phases_); step > 0; --step) {
      ToPrimal(ahead_);
      const double next = 0.5 * (1 + std::sqrt(1 + 4 * t * t));
      Step(strength, static_cast<float>((t - 1) / next));
      t = next;
    }
    ToPrimal(dual_);
  }

 private:
  // x = y - Dᵀ dual.
  void ToPrimal(const std::vector<float>& dual) {
    for (int p = 0; p < phases_; ++p) {
      const float* const before = dual.data() + (p == 0 ? phases_ - 1 : p - 1) * width_;
      const float* const after = dual.data() + p * width_;
      const float* const y = y_.data() + p * width_;
      float* const x = x_.data() + p * width_;
      for (int64_t i = 0; i < width_; ++i) x[i] = y[i] - before[i] + after[i];
    }
  }

  // A step against the gradient from `ahead`, whose Lipschitz constant is 4.
  void Step(float strength, float momentum) {
    for (int p = 0; p < phases_; ++p) {
      const float* const here = x(p);
      const float* const after = x(p + 1 == phases_ ? 0 : p + 1);
      float* const dual = dual_.data() + p * width_;
      float* const ahead = ahead_.data() + p * width_;
      for (int64_t i = 0; i < width_; ++i) {
        const float old = dual[i];
        dual[i] = std::clamp(ahead[i] + 0.25F * (after[i] - here[i]), -strength, strength);
        ahead[i] = dual[i] + momentum * (dual[i] - old);
      }
    }
  }

  int phases_;
  int64_t width_;
  std::vector<float> y_, x_, dual_, ahead_;
};

}  // namespace

absl::Status CheckCycleStrength(double strength_hu) {
  if (strength_hu >= 0 && std::isfinite(strength_hu)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the strength along the cycle is ", strength_hu, " HU; legal is 0 or more"));
}

absl::Status SmoothAlongCycle(std::span<const HostView3<float>> volumes, double strength_hu,
                              ThreadPool& pool) {
  const auto phases = static_cast<int>(volumes.size());
  if (phases < 2 || phases > kMostPhases) {
    return absl::InvalidArgumentError(
        absl::StrCat("volumes of a cycle are ", phases, "; legal is 2 to ", kMostPhases));
  }
  ISO_RETURN_IF_ERROR(CheckCycleStrength(strength_hu));
  const Shape3 shape = volumes[0].shape();
  for (const HostView3<float>& volume : volumes) {
    ISO_RETURN_IF_ERROR(ops::CheckSameShape("a volume of the cycle", volume.shape(), shape));
  }
  std::vector<Rows> scratch(pool.threads(), Rows(phases, shape.fast));
  pool.ParallelFor(shape.slow * shape.middle, [&](int64_t index, int worker) {
    const int64_t z = index / shape.middle, y = index % shape.middle;
    Rows& rows = scratch[worker];
    for (int p = 0; p < phases; ++p) std::copy_n(volumes[p].row(z, y), shape.fast, rows.y(p));
    rows.Minimise(static_cast<float>(strength_hu));
    for (int p = 0; p < phases; ++p) std::copy_n(rows.x(p), shape.fast, volumes[p].row(z, y));
  });
  return absl::OkStatus();
}

}  // namespace isocenter::recon
