#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/fanbeam/methods.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fanbeam/filter_direct.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// out[c] = Σ_j row[j] · kernel[c - j] for c in [0, channels), rounded up to whole blocks of four
// vectors; kernel[-channels..] is legal. Every other value of most kernels is zero, which is no
// reason to branch.
void ConvolveFanBeamRow(const double* HWY_RESTRICT row, const double* HWY_RESTRICT kernel,
                        int64_t channels, float* HWY_RESTRICT out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = 0; c < channels; c += 4 * lanes) {
    auto a = hn::Zero(d), b = hn::Zero(d), e = hn::Zero(d), f = hn::Zero(d);
    for (int64_t j = 0; j < channels; ++j) {
      const double* const at = kernel + c - j;
      const auto value = hn::Set(d, row[j]);
      a = hn::MulAdd(value, hn::LoadU(d, at), a);
      b = hn::MulAdd(value, hn::LoadU(d, at + lanes), b);
      e = hn::MulAdd(value, hn::LoadU(d, at + 2 * lanes), e);
      f = hn::MulAdd(value, hn::LoadU(d, at + 3 * lanes), f);
    }
    hn::StoreU(hn::DemoteTo(d32, a), d32, out + c);
    hn::StoreU(hn::DemoteTo(d32, b), d32, out + c + lanes);
    hn::StoreU(hn::DemoteTo(d32, e), d32, out + c + 2 * lanes);
    hn::StoreU(hn::DemoteTo(d32, f), d32, out + c + 3 * lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(ConvolveFanBeamRow);

constexpr int64_t kBlock = 32;  // channels that are made at once, at most

int64_t RoundUp(int64_t channels) { return (channels + kBlock - 1) / kBlock * kBlock; }

// Of one thread: the weights, the weighted row (float64) and the filtered one.
int64_t ScratchFloats(int64_t channels) { return 5 * RoundUp(channels); }

// The kernel on both sides, float64.
int64_t KernelFloats(int64_t channels) { return 2 * (channels + RoundUp(channels)); }

class FilterDirect final : public ops::FanBeamFilter {
 public:
  FilterDirect(const CpuSession& session, const ops::FanBeamFilterSpec& spec, DeviceMemory kernel)
      : FanBeamFilter(spec),
        pool_(session.pool()),
        budget_(session.budget()),
        weights_(spec.geometry),
        kernel_(std::move(kernel)) {
    const std::vector<double> h = ops::FanBeamKernel(spec);
    const int64_t channels = spec.geometry.channels;
    for (int64_t k = 1 - channels; k < channels; ++k) middle()[k] = h[std::abs(k)];
  }

  absl::Status DoRun(int first_view, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    const Shape3& shape = in->shape();
    const RowLayout layout(shape);
    const int64_t floats = ScratchFloats(shape.fast), rounded = RoundUp(shape.fast);
    ISO_RETURN_IF_ERROR(DeviceMemory::Reserve(budget_, floats * pool_->threads(), scratch_));
    const auto convolve = HWY_DYNAMIC_DISPATCH(ConvolveFanBeamRow);
    pool_->ParallelFor(shape.slow, [&](int64_t view, int worker) {
      auto* const weights = reinterpret_cast<double*>(scratch_->data() + worker * floats);
      double* const weighted = weights + rounded;
      auto* const convolved = reinterpret_cast<float*>(weighted + rounded);
      weights_.Row(static_cast<int>(first_view + view), {weights, static_cast<size_t>(shape.fast)});
      for (int64_t slice = 0; slice < shape.middle; ++slice) {
        const int64_t at = view * layout.view_stride + slice * layout.row_stride;
        for (int64_t c = 0; c < shape.fast; ++c) {
          const double value = in->data()[at + c];
          weighted[c] = std::isfinite(value) ? value * weights[c] : 0;
        }
        convolve(weighted, middle(), shape.fast, convolved);
        std::copy_n(convolved, shape.fast, out->data() + at);
      }
    });
    return absl::OkStatus();
  }

 private:
  double* middle() { return reinterpret_cast<double*>(kernel_.data()) + spec().geometry.channels; }

  std::shared_ptr<ThreadPool> pool_;
  std::shared_ptr<ops::MemoryBudget> budget_;
  const ops::FanBeamRowWeights weights_;
  DeviceMemory kernel_;
  std::optional<DeviceMemory> scratch_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilterDirect(
    ops::Session& session, const ops::FanBeamFilterSpec& spec) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  ISO_RETURN_IF_ERROR(ops::CheckFanBeamFilter(spec));
  ISO_ASSIGN_OR_RETURN(DeviceMemory kernel,
                       DeviceMemory::Create(own->budget(), KernelFloats(spec.geometry.channels)));
  return std::make_unique<FilterDirect>(*own, spec, std::move(kernel));
}

int64_t FanBeamFilterDirectBytes(const ops::Device& device, const ops::Extents&,
                                 const ops::FanBeamFilterSpec& spec) {
  const int64_t channels = spec.geometry.channels;
  return (KernelFloats(channels) + ScratchFloats(channels) * device.limits().threads) *
         static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
