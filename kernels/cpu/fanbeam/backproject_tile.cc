#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/fanbeam/backproject_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fanbeam/backproject_tile.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h: these headers, too, are compiled once per target.
#include "hwy/highway.h"
#include "kernels/cpu/fanbeam/backproject_run-inl.h"

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(AddFloatViews);
HWY_EXPORT(AddDoubleViews);

}  // namespace

void AddViews(const FanTile<float>& tile) { HWY_DYNAMIC_DISPATCH(AddFloatViews)(tile); }
void AddViews(const FanTile<double>& tile) { HWY_DYNAMIC_DISPATCH(AddDoubleViews)(tile); }

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
