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
  registry.arithmetic.Add("cpu", "simd", NewArithmetic);
  registry.variation.Add("cpu", "simd", NewVariation);
}

}  // namespace isocenter::cpu
