#include "kernels/cuda/register.h"

#include "kernels/cuda/corrections/methods.h"
#include "kernels/cuda/corrections/second_pass_methods.h"
#include "kernels/cuda/device/on_cuda.h"
#include "kernels/cuda/fanbeam/methods.h"
#include "kernels/cuda/fdk/methods.h"
#include "kernels/cuda/iterative/methods.h"
#include "kernels/cuda/projectors/methods.h"

namespace isocenter::cuda {
namespace {

void RegisterFanBeam(ops::Registry& registry) {
  registry.fan_beam_filter.Add("cuda", "double",
                               {OnCuda(NewFanBeamFilterDirect), Taking(FanBeamFilterDirectBytes)});
  registry.fan_beam_filter.Add("cuda", "cufft",
                               {OnCuda(NewFanBeamFilterCufft), Taking(FanBeamFilterCufftBytes)});
  auto& back = registry.fan_beam_backproject;
  const auto in_memory = Taking(FanBeamBackprojectBytes);
  const auto in_texture = Taking(FanBeamBackprojectTextureBytes);
  back.Add("cuda", "quarter_turn",
           {OnCuda(NewFanBeamBackprojectQuarter), Taking(FanBeamBackprojectQuarterBytes)});
  back.Add("cuda", "polynomial", {OnCuda(NewFanBeamBackprojectPolynomial), in_memory});
  back.Add(
      "cuda", "texture_quarter_turn",
      {OnCuda(NewFanBeamBackprojectQuarterTexture), Taking(FanBeamBackprojectQuarterTextureBytes)},
      ops::Precision::kFast);
  back.Add("cuda", "fast", {OnCuda(NewFanBeamBackprojectFast), in_texture}, ops::Precision::kFast);
  back.Add("cuda", "texture", {OnCuda(NewFanBeamBackprojectTexture), in_texture},
           ops::Precision::kFast);
  back.Add("cuda", "plain", {OnCuda(NewFanBeamBackprojectPlain), in_memory});
  back.Add("cuda", "double", {OnCuda(NewFanBeamBackprojectDouble), in_memory});
  back.Add(
      "cuda", "double_quarter_turn",
      {OnCuda(NewFanBeamBackprojectQuarterDouble), Taking(FanBeamBackprojectQuarterDoubleBytes)});
}

// The voxel-driven models, `parts` pieces of a voxel along each axis.
void RegisterVoxelDriven(int parts, ops::ProjectorMethods& methods) {
  methods.forward.Add(
      "cuda", "voxel_driven",
      {OnCuda([parts](CudaSession& session) { return NewProjectVoxelDriven(session, parts); }),
       Taking([parts](const ops::Extents& e) { return ProjectVoxelDrivenBytes(parts, e); })});
  methods.back.Add(
      "cuda", "voxel_driven",
      {OnCuda([parts](CudaSession& session) { return NewBackprojectVoxelDriven(session, parts); }),
       Taking([parts](const ops::Extents& e) { return BackprojectVoxelDrivenBytes(parts, e); })});
}

}  // namespace

void Register(ops::Registry& registry) {
  registry.devices["cuda"] = CudaDevice::Open;
  ops::CorrectionMethods& corrections = registry.corrections;
  corrections.normalize.Add("cuda", "plain",
                            {OnCuda(NewNormalizeCounts), Taking(NormalizeCountsBytes)});
  corrections.overexposed.Add("cuda", "rows",
                              {OnCuda(NewRecoverOverexposed), Taking(RecoverOverexposedBytes)});
  corrections.defects.Add("cuda", "plain",
                          {OnCuda(NewInterpolateDefects), Taking(InterpolateDefectsBytes)});
  corrections.lag.Add("cuda", "plain", {OnCuda(NewCorrectLag), Taking(CorrectLagBytes)});
  corrections.air_sweep.Add("cuda", "plain",
                            {OnCuda(NewCorrectAirSweep), Taking(CorrectAirSweepBytes)});
  corrections.doses.Add("cuda", "tiles", {OnCuda(NewFindDoses), Taking(FindDosesBytes)});
  corrections.glare.Add("cuda", "blocks", {OnCuda(NewCorrectGlare), Taking(CorrectGlareBytes)});
  corrections.scatter.Add("cuda", "blocks",
                          {OnCuda(NewCorrectScatter), Taking(CorrectScatterBytes)});
  corrections.linearize.Add("cuda", "plain", {OnCuda(NewLinearize), Taking(LinearizeBytes)});
  registry.preprocess.Add("cuda", "fused", {OnCuda(NewPreprocess), Taking(PreprocessBytes)});
  registry.ramp_filter.Add("cuda", "halves",
                           {OnCuda(NewRampFilterHalves), Taking(RampFilterHalvesBytes)});
  registry.ramp_filter.Add("cuda", "fused",
                           {OnCuda(NewRampFilterFused), Taking(RampFilterFusedBytes)});
  registry.ramp_filter.Add("cuda", "cufft",
                           {OnCuda(NewRampFilterCufft), Taking(RampFilterCufftBytes)});
  // The first of each precision is its default.
  registry.backproject.Add("cuda", "staged",
                           {OnCuda(NewBackprojectStaged), Taking(BackprojectStagedBytes)});
  registry.backproject.Add("cuda", "hybrid",
                           {OnCuda(NewBackprojectHybrid), Taking(BackprojectHybridBytes)},
                           ops::Precision::kFast);
  registry.backproject.Add("cuda", "voxel", OnCuda(NewBackprojectVoxel));
  registry.to_hounsfield.Add("cuda", "plain", OnCuda(NewToHounsfield));
  RegisterVoxelDriven(1, registry.projectors[ops::ProjectorModel::kVoxelDriven]);
  RegisterVoxelDriven(2, registry.projectors[ops::ProjectorModel::kVoxelDrivenSplit]);
  registry.arithmetic.Add("cuda", "plain", {OnCuda(NewArithmetic), Taking(ArithmeticBytes)});
  registry.variation.Add("cuda", "plain", {OnCuda(NewVariation), Taking(VariationBytes)});
  RegisterFanBeam(registry);

  registry.trace.Add("cuda", "marked",
                     {OnCuda(NewInterpolateTrace), Taking(InterpolateTraceBytes)});
  registry.bone.Add("cuda", "bilinear", {OnCuda(NewCorrectBone), Taking(CorrectBoneBytes)});
  registry.remove_scatter.Add("cuda", "bilinear", OnCuda(NewRemoveScatter));
  registry.cone_beam.Add("cuda", "plain",
                         {OnCuda(NewConeBeamArtefact), Taking(ConeBeamArtefactBytes)});
  registry.rings.Add("cuda", "plain", {OnCuda(NewRemoveRings), Taking(RemoveRingsBytes)});
  registry.stripes.Add("cuda", "plain", {OnCuda(NewRemoveStripes), Taking(RemoveStripesBytes)});

  ops::ProjectorMethods& siddon = registry.projectors[ops::ProjectorModel::kSiddon];
  siddon.forward.Add("cuda", "siddon", {OnCuda(NewProjectSiddon), Taking(ProjectSiddonBytes)});
  siddon.back.Add("cuda", "siddon", {OnCuda(NewBackprojectSiddon), Taking(BackprojectSiddonBytes)});
  ops::ProjectorMethods& joseph = registry.projectors[ops::ProjectorModel::kJoseph];
  joseph.forward.Add("cuda", "joseph", {OnCuda(NewProjectJoseph), Taking(ProjectJosephBytes)});
  joseph.forward.Add("cuda", "rows", {OnCuda(NewProjectJosephRows), Taking(ProjectJosephRowsBytes)},
                     ops::Precision::kFast);
  joseph.back.Add("cuda", "joseph", {OnCuda(NewBackprojectJoseph), Taking(BackprojectJosephBytes)});
  ops::ProjectorMethods& footprint = registry.projectors[ops::ProjectorModel::kSeparableFootprint];
  footprint.forward.Add(
      "cuda", "separable_footprint",
      {OnCuda(NewProjectSeparableFootprint), Taking(ProjectSeparableFootprintBytes)});
  footprint.back.Add(
      "cuda", "separable_footprint",
      {OnCuda(NewBackprojectSeparableFootprint), Taking(BackprojectSeparableFootprintBytes)});
}

}  // namespace isocenter::cuda
