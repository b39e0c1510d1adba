#include "kernels/cuda/register.h"

#include <numbers>

#include "kernels/cuda/device.h"
#include "kernels/cuda/methods.h"

namespace isocenter::cuda {
namespace {

absl::StatusOr<CudaDevice*> AsCuda(ops::Device& device) {
  auto* own = dynamic_cast<CudaDevice*>(&device);
  if (own == nullptr)
    return absl::InvalidArgumentError("the device does not belong to the cuda backend");
  return own;
}

// A factory of the registry from a function that takes the device itself.
template <class Make>
auto OnCuda(Make make) {
  return [make](ops::Device& device,
                const auto&... arguments) -> decltype(make(std::declval<CudaDevice&>(),
                                                           arguments...)) {
    ISO_ASSIGN_OR_RETURN(CudaDevice * own, AsCuda(device));
    return make(*own, arguments...);
  };
}

// The voxel-driven models, `parts` pieces of a voxel along each axis.
void RegisterVoxelDriven(int parts, ops::ProjectorMethods& methods) {
  methods.forward.Add("cuda", "voxel_driven", OnCuda([parts](CudaDevice& device) {
                        return NewProjectVoxelDriven(device, parts);
                      }));
  methods.back.Add("cuda", "voxel_driven", OnCuda([parts](CudaDevice& device) {
                     return NewBackprojectVoxelDriven(device, parts);
                   }));
  const auto add_du = [&](std::string name, const DuPlanes& planes) {
    methods.forward.Add("cuda", std::move(name), OnCuda([parts, planes](CudaDevice& device) {
                          return NewProjectDu(device, parts, planes);
                        }),
                        ops::Precision::kExact, ops::Order::kAny);
  };
  constexpr double kDegree = std::numbers::pi / 180;
  add_du("du_axial", {DuPlane::kAxial, DuPlane::kAxial, 0});
  add_du("du_vertical", {DuPlane::kCoronal, DuPlane::kCoronal, 0});
  add_du("du_interchange_45", {DuPlane::kCoronal, DuPlane::kSagittal, 45 * kDegree});
  // 80°, 100°, 260° and 280° of the paper.
  add_du("du_critical", {DuPlane::kCoronal, DuPlane::kSagittal, 80 * kDegree});
}

}  // namespace

void Register(ops::Registry& registry) {
  registry.devices["cuda"] = CudaDevice::Open;
  registry.preprocess.Add("cuda", "fused", OnCuda(NewPreprocess));
  registry.ramp_filter.Add("cuda", "fused", OnCuda(NewRampFilterFused));
  registry.ramp_filter.Add("cuda", "cufft", OnCuda(NewRampFilterCufft));
  // The first of each precision is its default.
  registry.backproject.Add("cuda", "staged", OnCuda(NewBackprojectStaged));
  registry.backproject.Add("cuda", "hybrid", OnCuda(NewBackprojectHybrid), ops::Precision::kFast);
  registry.backproject.Add("cuda", "voxel", OnCuda(NewBackprojectVoxel));
  registry.backproject.Add("cuda", "naive", OnCuda(NewBackprojectNaive));
  registry.backproject.Add("cuda", "texture", OnCuda(NewBackprojectTexture), ops::Precision::kFast);
  registry.backproject.Add("cuda", "rapid", OnCuda(NewBackprojectRapid), ops::Precision::kFast);
  registry.backproject.Add("cuda", "kernel_a", OnCuda(NewBackprojectKernelA),
                           ops::Precision::kFast);
  registry.backproject.Add("cuda", "kernel_b", OnCuda(NewBackprojectKernelB),
                           ops::Precision::kFast);
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
