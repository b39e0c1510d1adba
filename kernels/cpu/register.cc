#include "kernels/cpu/register.h"

#include "kernels/cpu/device/device.h"
#include "kernels/cpu/fdk/methods.h"
#include "kernels/cpu/iterative/methods.h"
#include "kernels/cpu/projectors/methods.h"

namespace isocenter::cpu {

void Register(ops::Registry& registry) {
  registry.devices["cpu"] = [](const ops::DeviceLimits& limits) {
    return std::make_unique<CpuDevice>(limits);
  };
  registry.preprocess.Add("cpu", "simd", NewPreprocess);
  registry.ramp_filter.Add("cpu", "fft", NewRampFilter);
  registry.backproject.Add("cpu", "voxel", NewBackprojectVoxel);
  registry.to_hounsfield.Add("cpu", "simd", NewToHounsfield);
  using Model = ops::ProjectorModel;
  ops::ProjectorMethods& joseph = registry.projectors[Model::kJoseph];
  joseph.forward.Add("cpu", "rays", NewProjectJoseph);
  joseph.back.Add("cpu", "rays", NewMatchedBackprojectJoseph);
  ops::ProjectorMethods& siddon = registry.projectors[Model::kSiddon];
  siddon.forward.Add("cpu", "rays", NewProjectSiddon);
  siddon.back.Add("cpu", "rays", NewMatchedBackprojectSiddon);
  ops::ProjectorMethods& voxel_driven = registry.projectors[Model::kVoxelDriven];
  voxel_driven.forward.Add("cpu", "footprints", NewProjectVoxelDriven);
  voxel_driven.back.Add("cpu", "footprints", NewMatchedBackprojectVoxelDriven);
  ops::ProjectorMethods& split = registry.projectors[Model::kVoxelDrivenSplit];
  split.forward.Add("cpu", "footprints", NewProjectVoxelDrivenSplit);
  split.back.Add("cpu", "footprints", NewMatchedBackprojectVoxelDrivenSplit);
  ops::ProjectorMethods& separable = registry.projectors[Model::kSeparableFootprint];
  separable.forward.Add("cpu", "footprints", NewProjectSeparableFootprint);
  separable.back.Add("cpu", "footprints", NewMatchedBackprojectSeparableFootprint);
  registry.arithmetic.Add("cpu", "simd", NewArithmetic);
  registry.variation.Add("cpu", "simd", NewVariation);
}

}  // namespace isocenter::cpu
