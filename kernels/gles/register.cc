#include "kernels/gles/register.h"

#include "kernels/gles/device.h"
#include "kernels/gles/methods.h"

namespace isocenter::gles {

void Register(ops::Registry& registry) {
  registry.devices["gles"] = GlesDevice::Open;
  registry.to_hounsfield.Add("gles", "compute", NewToHounsfield);
  registry.fan_beam_filter.Add("gles", "compute", {NewFanBeamFilter, FanBeamFilterBytes});
  auto& back = registry.fan_beam_backproject;
  back.Add("gles", "quarter_turn", {NewFanBeamBackprojectComputeQuarter, FanBeamBackprojectBytes});
  back.Add("gles", "compute", {NewFanBeamBackprojectCompute, FanBeamBackprojectBytes});
  back.Add("gles", "one_pass_quarter_turn",
           {NewFanBeamBackprojectFragmentQuarter, FanBeamBackprojectBytes}, ops::Precision::kFast);
  back.Add("gles", "one_pass", {NewFanBeamBackprojectFragment, FanBeamBackprojectBytes},
           ops::Precision::kFast);
  back.Add("gles", "one_pass_half", {NewFanBeamBackprojectHalf, FanBeamBackprojectBytes},
           ops::Precision::kFast);
  back.Add("gles", "one_pass_half_quarter_turn",
           {NewFanBeamBackprojectHalfQuarter, FanBeamBackprojectBytes}, ops::Precision::kFast);
  back.Add("gles", "squares", {NewFanBeamBackprojectSquares, FanBeamBackprojectBytes},
           ops::Precision::kFast);
  back.Add("gles", "squares_blended",
           {NewFanBeamBackprojectBlendedSquares, FanBeamBackprojectBytes}, ops::Precision::kFast);
}

}  // namespace isocenter::gles
