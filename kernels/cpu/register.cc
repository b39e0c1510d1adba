#include "kernels/cpu/register.h"

#include "kernels/cpu/device.h"
#include "kernels/cpu/methods.h"

namespace isocenter::cpu {

void Register(ops::Registry& registry) {
  registry.devices["cpu"] = [](const ops::DeviceLimits& limits) {
    return std::make_unique<CpuDevice>(limits);
  };
  registry.preprocess.Add("cpu", "simd", NewPreprocess);
  registry.ramp_filter.Add("cpu", "fft", NewRampFilter);
  registry.backproject.Add("cpu", "voxel", NewBackprojectVoxel);
  registry.to_hounsfield.Add("cpu", "simd", NewToHounsfield);
  ops::ProjectorMethods& joseph = registry.projectors[ops::ProjectorModel::kJoseph];
  joseph.forward.Add("cpu", "rays", NewProjectJoseph);
  joseph.back.Add("cpu", "rays", NewMatchedBackprojectJoseph);
  ops::ProjectorMethods& siddon = registry.projectors[ops::ProjectorModel::kSiddon];
  siddon.forward.Add("cpu", "rays", NewProjectSiddon);
  siddon.back.Add("cpu", "rays", NewMatchedBackprojectSiddon);
}

}  // namespace isocenter::cpu
