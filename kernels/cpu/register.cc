#include "kernels/cpu/register.h"

#include "kernels/cpu/corrections/methods.h"
#include "kernels/cpu/corrections/second_pass_methods.h"
#include "kernels/cpu/device/device.h"
#include "kernels/cpu/fanbeam/methods.h"
#include "kernels/cpu/fdk/methods.h"
#include "kernels/cpu/iterative/methods.h"
#include "kernels/cpu/projectors/methods.h"

namespace isocenter::cpu {

void Register(ops::Registry& registry) {
  registry.devices["cpu"] = [](const ops::DeviceLimits& limits) {
    return std::make_unique<CpuDevice>(limits);
  };
  ops::CorrectionMethods& corrections = registry.corrections;
  corrections.normalize.Add("cpu", "simd", {NewNormalizeCounts, NormalizeCountsBytes});
  corrections.overexposed.Add("cpu", "rows", {NewRecoverOverexposed, RecoverOverexposedBytes});
  corrections.defects.Add("cpu", "scalar", NewInterpolateDefects);
  corrections.lag.Add("cpu", "simd", {NewCorrectLag, CorrectLagBytes});
  corrections.air_sweep.Add("cpu", "simd", {NewCorrectAirSweep, CorrectAirSweepBytes});
  corrections.doses.Add("cpu", "tiles", NewFindDoses);
  corrections.glare.Add("cpu", "simd", {NewCorrectGlare, CorrectGlareBytes});
  corrections.scatter.Add("cpu", "simd", {NewCorrectScatter, CorrectScatterBytes});
  corrections.linearize.Add("cpu", "simd", {NewLinearize, LinearizeBytes});
  registry.preprocess.Add("cpu", "simd", NewPreprocess);
  registry.ramp_filter.Add("cpu", "fft", {NewRampFilter, RampFilterBytes});
  registry.backproject.Add("cpu", "voxel", {NewBackprojectVoxel, BackprojectVoxelBytes});
  registry.matrix_gradient.Add("cpu", "gather", NewMatrixGradient);
  registry.to_hounsfield.Add("cpu", "simd", NewToHounsfield);
  using Model = ops::ProjectorModel;
  ops::ProjectorMethods& joseph = registry.projectors[Model::kJoseph];
  joseph.forward.Add("cpu", "rays", NewProjectJoseph);
  joseph.back.Add("cpu", "rays", NewMatchedBackprojectJoseph);
  joseph.row_sums.Add("cpu", "rays", NewRowSumsJoseph);
  ops::ProjectorMethods& siddon = registry.projectors[Model::kSiddon];
  siddon.forward.Add("cpu", "rays", NewProjectSiddon);
  siddon.back.Add("cpu", "rays", NewMatchedBackprojectSiddon);
  siddon.row_sums.Add("cpu", "rays", NewRowSumsSiddon);
  ops::ProjectorMethods& voxel_driven = registry.projectors[Model::kVoxelDriven];
  voxel_driven.forward.Add("cpu", "footprints", {NewProjectVoxelDriven, FootprintForwardBytes});
  voxel_driven.back.Add("cpu", "footprints", NewMatchedBackprojectVoxelDriven);
  ops::ProjectorMethods& split = registry.projectors[Model::kVoxelDrivenSplit];
  split.forward.Add("cpu", "footprints", {NewProjectVoxelDrivenSplit, FootprintForwardBytes});
  split.back.Add("cpu", "footprints", NewMatchedBackprojectVoxelDrivenSplit);
  ops::ProjectorMethods& separable = registry.projectors[Model::kSeparableFootprint];
  separable.forward.Add("cpu", "footprints", {NewProjectSeparableFootprint, FootprintForwardBytes});
  separable.back.Add("cpu", "footprints", NewMatchedBackprojectSeparableFootprint);
  registry.arithmetic.Add("cpu", "simd", NewArithmetic);
  registry.variation.Add("cpu", "simd", NewVariation);
  registry.fan_beam_filter.Add("cpu", "fft", {NewFanBeamFilterFft, FanBeamFilterFftBytes});
  registry.fan_beam_filter.Add("cpu", "double", {NewFanBeamFilterDirect, FanBeamFilterDirectBytes});
  registry.fan_beam_backproject.Add(
      "cpu", "quarter_turn",
      {NewFanBeamBackprojectQuarter<float>, FanBeamBackprojectQuarterBytes<float>});
  registry.fan_beam_backproject.Add("cpu", "plain",
                                    {NewFanBeamBackproject<float>, FanBeamBackprojectBytes<float>});
  registry.fan_beam_backproject.Add(
      "cpu", "double", {NewFanBeamBackproject<double>, FanBeamBackprojectBytes<double>});
  registry.fan_beam_backproject.Add(
      "cpu", "double_quarter_turn",
      {NewFanBeamBackprojectQuarter<double>, FanBeamBackprojectQuarterBytes<double>});
  registry.trace.Add("cpu", "rows", NewInterpolateTrace);
  registry.bone.Add("cpu", "bilinear", NewCorrectBone);
  registry.remove_scatter.Add("cpu", "bilinear", NewRemoveScatter);
  registry.rings.Add("cpu", "lanes", {NewRemoveRings, RemoveRingsBytes});
  registry.stripes.Add("cpu", "lanes", {NewRemoveStripes, RemoveStripesBytes});
}

}  // namespace isocenter::cpu
