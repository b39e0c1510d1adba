#include "kernels/gles/register.h"

#include "kernels/gles/device.h"
#include "kernels/gles/methods.h"

namespace isocenter::gles {

void Register(ops::Registry& registry) {
  registry.devices["gles"] = GlesDevice::Open;
  registry.to_hounsfield.Add("gles", "host", NewToHounsfield);
  registry.fan_beam_filter.Add("gles", "compute", NewFanBeamFilter);
  registry.fan_beam_backproject.Add("gles", "compute", NewFanBeamBackprojectCompute);
  registry.fan_beam_backproject.Add("gles", "one_pass", NewFanBeamBackprojectFragment,
                                    ops::Precision::kFast);
}

}  // namespace isocenter::gles
