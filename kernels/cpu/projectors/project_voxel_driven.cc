#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/projectors/footprint_projector.h"
#include "kernels/cpu/projectors/methods.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/projectors/project_voxel_driven.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h: these headers, too, are compiled once per target.
#include "hwy/highway.h"
#include "kernels/cpu/projectors/footprint_runs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

void ForwardHats(const RunGeometry& geometry, const float* voxels, RunScratch& scratch) {
  ForwardRun<Hat>(geometry, voxels, scratch);
}
void BackHats(const RunGeometry& geometry, float* voxels) { BackRun<Hat>(geometry, voxels); }

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(ForwardHats);
HWY_EXPORT(BackHats);

FootprintModel Model(int parts) {
  return {.footprint = Footprint::kHat,
          .parts = parts,
          .kernels = {HWY_DYNAMIC_DISPATCH(ForwardHats), HWY_DYNAMIC_DISPATCH(BackHats)}};
}

ForwardProjectOr NewForward(ops::Session& session, int parts) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return NewFootprintForward(own->pool(), Model(parts));
}
MatchedBackprojectOr NewBack(ops::Session& session, int parts) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return NewFootprintBack(own->pool(), Model(parts));
}

}  // namespace

ForwardProjectOr NewProjectVoxelDriven(ops::Session& session) { return NewForward(session, 1); }
ForwardProjectOr NewProjectVoxelDrivenSplit(ops::Session& session) {
  return NewForward(session, 2);
}
MatchedBackprojectOr NewMatchedBackprojectVoxelDriven(ops::Session& session) {
  return NewBack(session, 1);
}
MatchedBackprojectOr NewMatchedBackprojectVoxelDrivenSplit(ops::Session& session) {
  return NewBack(session, 2);
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
