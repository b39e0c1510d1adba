#include "kernels/cuda/published/register.h"

#include <numbers>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/device/on_cuda.h"
#include "kernels/cuda/fanbeam/methods.h"
#include "kernels/cuda/published/methods.h"

namespace isocenter::cuda {
namespace {

// The voxel-driven models, `parts` pieces of a voxel along each axis.
void RegisterDu(int parts, ops::ProjectorMethods& methods) {
  const auto add = [&](std::string name, const DuPlanes& planes) {
    methods.forward.Add("cuda", std::move(name), OnCuda([parts, planes](CudaSession& session) {
                          return NewProjectDu(session, parts, planes);
                        }),
                        ops::Precision::kExact, ops::Order::kAny);
  };
  constexpr double kDegree = std::numbers::pi / 180;
  add("du_axial", {DuPlane::kAxial, DuPlane::kAxial, 0});
  add("du_vertical", {DuPlane::kCoronal, DuPlane::kCoronal, 0});
  add("du_interchange_45", {DuPlane::kCoronal, DuPlane::kSagittal, 45 * kDegree});
  // 80°, 100°, 260° and 280° of the paper.
  add("du_critical", {DuPlane::kCoronal, DuPlane::kSagittal, 80 * kDegree});
}

void RegisterLockStep(std::string name, LockStepTables tables, ops::Registry& registry) {
  registry.projectors[ops::ProjectorModel::kSiddon].back.Add(
      "cuda", std::move(name),
      {OnCuda([tables](CudaSession& session) { return NewBackprojectLockStep(session, tables); }),
       Taking([tables](const ops::Extents& e) { return BackprojectLockStepBytes(tables, e); })},
      ops::Precision::kExact, ops::Order::kAny);
}

template <int kPerChannel>
void RegisterTangentRows(ops::Registry& registry) {
  registry.fan_beam_backproject.Add("cuda", absl::StrCat("tangent_rows_", kPerChannel),
                                    {OnCuda(NewFanBeamBackprojectTangent<kPerChannel>),
                                     Taking(FanBeamBackprojectTangentBytes<kPerChannel>)},
                                    ops::Precision::kFast);
}

}  // namespace

void RegisterPublished(ops::Registry& registry) {
  registry.backproject.Add("cuda", "naive", OnCuda(NewBackprojectNaive));
  registry.backproject.Add("cuda", "texture",
                           {OnCuda(NewBackprojectTexture), Taking(BackprojectTextureBytes)},
                           ops::Precision::kFast);
  registry.backproject.Add("cuda", "rapid",
                           {OnCuda(NewBackprojectRapid), Taking(BackprojectRapidBytes)},
                           ops::Precision::kFast);
  registry.backproject.Add("cuda", "kernel_a",
                           {OnCuda(NewBackprojectKernelA), Taking(BackprojectKernelABytes)},
                           ops::Precision::kFast);
  registry.backproject.Add("cuda", "kernel_b",
                           {OnCuda(NewBackprojectKernelB), Taking(BackprojectKernelBBytes)},
                           ops::Precision::kFast);
  RegisterZinsserKeckTable(registry);
  RegisterPapenhausenLadder(registry);
  RegisterLockStep("lock_step", LockStepTables::kCopied, registry);
  RegisterLockStep("lock_step_stored", LockStepTables::kStored, registry);
  RegisterTangentRows<1>(registry);
  RegisterTangentRows<4>(registry);
  RegisterTangentRows<16>(registry);
  RegisterDu(1, registry.projectors[ops::ProjectorModel::kVoxelDriven]);
  RegisterDu(2, registry.projectors[ops::ProjectorModel::kVoxelDrivenSplit]);
}

}  // namespace isocenter::cuda
