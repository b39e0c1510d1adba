#include "kernels/cuda/register.h"

#include "kernels/cuda/device/on_cuda.h"
#include "kernels/cuda/fdk/methods.h"
#include "kernels/cuda/iterative/methods.h"
#include "kernels/cuda/projectors/methods.h"

namespace isocenter::cuda {
namespace {

int64_t WorkspaceBytes(Shape3 shape) {
  // Two sets of raw frames, of up to four bytes; tables of the filter; projections in the layouts
  // of the back-projection.
  return 2 * shape.count() * int64_t{sizeof(float)} +
         RampFilterWorkspaceBytes(static_cast<int>(shape.middle), static_cast<int>(shape.fast)) +
         BackprojectWorkspaceBytes(shape);
}

// The voxel-driven models, `parts` pieces of a voxel along each axis.
void RegisterVoxelDriven(int parts, ops::ProjectorMethods& methods) {
  methods.forward.Add("cuda", "voxel_driven", OnCuda([parts](CudaSession& session) {
                        return NewProjectVoxelDriven(session, parts);
                      }));
  methods.back.Add("cuda", "voxel_driven", OnCuda([parts](CudaSession& session) {
                     return NewBackprojectVoxelDriven(session, parts);
                   }));
}

}  // namespace

void Register(ops::Registry& registry) {
  registry.devices["cuda"] = [](const ops::DeviceLimits& limits) {
    return CudaDevice::Open(limits, WorkspaceBytes);
  };
  registry.preprocess.Add("cuda", "fused", OnCuda(NewPreprocess));
  registry.ramp_filter.Add("cuda", "fused", OnCuda(NewRampFilterFused));
  registry.ramp_filter.Add("cuda", "cufft", OnCuda(NewRampFilterCufft));
  // The first of each precision is its default.
  registry.backproject.Add("cuda", "staged", OnCuda(NewBackprojectStaged));
  registry.backproject.Add("cuda", "hybrid", OnCuda(NewBackprojectHybrid), ops::Precision::kFast);
  registry.backproject.Add("cuda", "voxel", OnCuda(NewBackprojectVoxel));
  registry.to_hounsfield.Add("cuda", "plain", OnCuda(NewToHounsfield));
  RegisterVoxelDriven(1, registry.projectors[ops::ProjectorModel::kVoxelDriven]);
  RegisterVoxelDriven(2, registry.projectors[ops::ProjectorModel::kVoxelDrivenSplit]);
  registry.arithmetic.Add("cuda", "plain", OnCuda(NewArithmetic));
  registry.variation.Add("cuda", "plain", OnCuda(NewVariation));

  ops::ProjectorMethods& siddon = registry.projectors[ops::ProjectorModel::kSiddon];
  siddon.forward.Add("cuda", "siddon", OnCuda(NewProjectSiddon));
  siddon.back.Add("cuda", "siddon", OnCuda(NewBackprojectSiddon));
  ops::ProjectorMethods& joseph = registry.projectors[ops::ProjectorModel::kJoseph];
  joseph.forward.Add("cuda", "joseph", OnCuda(NewProjectJoseph));
  joseph.forward.Add("cuda", "rows", OnCuda(NewProjectJosephRows), ops::Precision::kFast);
  joseph.back.Add("cuda", "joseph", OnCuda(NewBackprojectJoseph));
  ops::ProjectorMethods& footprint = registry.projectors[ops::ProjectorModel::kSeparableFootprint];
  footprint.forward.Add("cuda", "separable_footprint", OnCuda(NewProjectSeparableFootprint));
  footprint.back.Add("cuda", "separable_footprint", OnCuda(NewBackprojectSeparableFootprint));
}

}  // namespace isocenter::cuda
