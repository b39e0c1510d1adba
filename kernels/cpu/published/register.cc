#include "kernels/cpu/published/register.h"

#include "kernels/cpu/published/methods.h"

namespace isocenter::cpu {

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
}

}  // namespace isocenter::cpu
