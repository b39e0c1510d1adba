#include "kernels/cpu/device/device.h"
#include "kernels/cpu/device/highway_targets.h"
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

ForwardProjectOr NewForward(ops::Device& device, int parts) {
  ISO_ASSIGN_OR_RETURN(CpuDevice * own, AsCpuDevice(device));
  return NewFootprintForward(own->pool(), Model(parts));
}
MatchedBackprojectOr NewBack(ops::Device& device, int parts) {
  ISO_ASSIGN_OR_RETURN(CpuDevice * own, AsCpuDevice(device));
  return NewFootprintBack(own->pool(), Model(parts));
}

}  // namespace

ForwardProjectOr NewProjectVoxelDriven(ops::Device& device) { return NewForward(device, 1); }
ForwardProjectOr NewProjectVoxelDrivenSplit(ops::Device& device) { return NewForward(device, 2); }
MatchedBackprojectOr NewMatchedBackprojectVoxelDriven(ops::Device& device) {
  return NewBack(device, 1);
}
MatchedBackprojectOr NewMatchedBackprojectVoxelDrivenSplit(ops::Device& device) {
  return NewBack(device, 2);
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
