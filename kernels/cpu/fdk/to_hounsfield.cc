#include <algorithm>
#include <cstdint>

#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/fdk/methods.h"
#include "kernels/ops/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fdk/to_hounsfield.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// `count` is a multiple of a cache line.
void Convert(float* data, int64_t count, float scale, const ops::HounsfieldHinges& hinges) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, scale), water = hn::Set(d, 1000.0f), air = hn::Set(d, -1000.0f);
  const auto slope = hn::Set(d, hinges.slope), offset = hn::Set(d, hinges.offset);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto measured = hn::MulSub(hn::Load(d, data + i), factor, water);
    auto value = hn::MulAdd(measured, slope, offset);
    for (int k = 0; k < hinges.count; ++k) {
      const auto beyond = hn::Max(hn::Zero(d), hn::Sub(measured, hn::Set(d, hinges.at[k])));
      value = hn::MulAdd(hn::Set(d, hinges.turn[k]), beyond, value);
    }
    hn::Store(hn::IfThenElse(hn::IsFinite(measured), value, air), d, data + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(Convert);

class ToHounsfieldSimd final : public ops::ToHounsfield {
 public:
  explicit ToHounsfieldSimd(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  absl::Status DoRun(const ops::HounsfieldScale& hounsfield, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    constexpr int64_t kPart = int64_t{1} << 16;
    const auto scale = static_cast<float>(1000 / hounsfield.mu_water_per_mm);
    const ops::HounsfieldHinges hinges = ops::HingesOf(hounsfield.table);
    const auto convert = HWY_DYNAMIC_DISPATCH(Convert);
    pool_->ParallelFor((target->floats() + kPart - 1) / kPart, [&](int64_t part, int) {
      const int64_t first = part * kPart;
      convert(target->data() + first, std::min(kPart, target->floats() - first), scale, hinges);
    });
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<ToHounsfieldSimd>(own->pool());
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
