#include "kernels/reference/register.h"

#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {

void Register(ops::Registry& registry) {
  registry.devices["reference"] = [](const ops::DeviceLimits& limits) {
    return std::make_unique<ReferenceDevice>(limits);
  };
  registry.preprocess.Add("reference", "plain", [](ops::Device&) { return NewPreprocess(); });
  registry.ramp_filter.Add(
      "reference", "convolution",
      [](ops::Device&, const ops::RampFilterSpec& spec) { return NewRampFilter(spec); });
  registry.backproject.Add("reference", "voxel",
                           [](ops::Device&) { return NewBackprojectVoxel(); });
  registry.to_hounsfield.Add("reference", "plain", [](ops::Device&) { return NewToHounsfield(); });
}

}  // namespace isocenter::reference
