#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/projectors/footprint_projector.h"
#include "kernels/cpu/projectors/methods.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/projectors/project_separable_footprint.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h: these headers, too, are compiled once per target.
#include "hwy/highway.h"
#include "kernels/cpu/projectors/footprint_runs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

void ForwardTrapezoids(const RunGeometry& geometry, const float* voxels, RunScratch& scratch) {
  ForwardRun<Trapezoid>(geometry, voxels, scratch);
}
void BackTrapezoids(const RunGeometry& geometry, float* voxels) {
  BackRun<Trapezoid>(geometry, voxels);
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(ForwardTrapezoids);
HWY_EXPORT(BackTrapezoids);

FootprintModel Model() {
  return {
      .footprint = Footprint::kTrapezoid,
      .kernels = {HWY_DYNAMIC_DISPATCH(ForwardTrapezoids), HWY_DYNAMIC_DISPATCH(BackTrapezoids)}};
}

}  // namespace

ForwardProjectOr NewProjectSeparableFootprint(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return NewFootprintForward(own->pool(), Model());
}
MatchedBackprojectOr NewMatchedBackprojectSeparableFootprint(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return NewFootprintBack(own->pool(), Model());
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
