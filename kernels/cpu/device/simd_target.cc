#include "kernels/cpu/device/simd_target.h"

#include <bit>
#include <cstdint>

#include "kernels/cpu/device/highway_targets.h"
// The line above limits the targets of the one below.
#include "hwy/targets.h"

namespace isocenter::cpu {
namespace {

struct Named {
  int64_t target;
  const char* name;
};
constexpr Named kNames[] = {
    {HWY_AVX3, "AVX-512"}, {HWY_AVX2, "AVX2"}, {HWY_SSE4, "SSE4"}, {HWY_SCALAR, "scalar"}};

void Choose(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::vector<std::string> SimdTargets() {
  std::vector<std::string> names;
  for (const Named& named : kNames) {
    if ((hwy::SupportedTargets() & HWY_TARGETS & named.target) != 0) names.push_back(named.name);
  }
  return names;
}

std::string SimdTargetName() { return SimdTargets().front(); }

bool ForceSimdTarget(absl::string_view name) {
  Choose(0);
  if (name.empty()) return true;
  for (const Named& named : kNames) {
    if (name != named.name) continue;
    if ((hwy::SupportedTargets() & HWY_TARGETS & named.target) == 0) return false;
    Choose(named.target);
    return true;
  }
  return false;
}

}  // namespace isocenter::cpu
