#include "kernels/cpu/published/register.h"

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fanbeam/methods.h"
#include "kernels/cpu/published/methods.h"

namespace isocenter::cpu {
namespace {

void RegisterTangentRows(int per_channel, ops::Registry& registry) {
  registry.fan_beam_backproject.Add(
      "cpu", absl::StrCat("tangent_rows_", per_channel),
      {[per_channel](ops::Session& session) {
         return NewFanBeamBackprojectTangent(session, per_channel);
       },
       [per_channel](const ops::Device& device, const ops::Extents& extents) {
         return FanBeamBackprojectTangentBytes(per_channel, device, extents);
       }},
      ops::Precision::kFast);
}

}  // namespace

void RegisterPublished(ops::Registry& registry) {
  // Backwards, threads come to a voxel in any order.
  constexpr auto kExact = ops::Precision::kExact;
  ops::ProjectorMethods& siddon = registry.projectors[ops::ProjectorModel::kSiddon];
  siddon.forward.Add("cpu", "jacobs", NewProjectJacobs);
  siddon.back.Add("cpu", "jacobs", NewMatchedBackprojectJacobs, kExact, ops::Order::kAny);
  siddon.forward.Add("cpu", "jacobs_inner_v", NewProjectJacobsInnerV);
  siddon.back.Add("cpu", "jacobs_inner_v", NewMatchedBackprojectJacobsInnerV, kExact,
                  ops::Order::kAny);
  registry.projectors[ops::ProjectorModel::kVoxelDriven].forward.Add("cpu", "du_one_thread",
                                                                     NewProjectDu);
  registry.projectors[ops::ProjectorModel::kVoxelDrivenSplit].forward.Add("cpu", "du_one_thread",
                                                                          NewProjectDuSplit);
  RegisterTangentRows(1, registry);
  RegisterTangentRows(4, registry);
}

}  // namespace isocenter::cpu
