#include "kernels/cuda/register.h"

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
  registry.arithmetic.Add("cuda", "plain", OnCuda(NewArithmetic));
  registry.variation.Add("cuda", "plain", OnCuda(NewVariation));

  ops::ProjectorMethods& siddon = registry.projectors[ops::ProjectorModel::kSiddon];
  siddon.forward.Add("cuda", "siddon", OnCuda(NewProjectSiddon));
  siddon.back.Add("cuda", "siddon", OnCuda(NewBackprojectSiddon));
}

}  // namespace isocenter::cuda
