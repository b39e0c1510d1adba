#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/projectors/methods.h"
#include "kernels/cpu/projectors/ray_projector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/projectors/project_siddon.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come before the headers that it compiles once per target.
#include "hwy/highway.h"
#include "kernels/cpu/projectors/project_columns-inl.h"
#include "kernels/cpu/projectors/scatter_rays-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

void ForwardSiddon(const ForwardJob& job) { ForwardColumns<Siddon>(job); }
void ScatterSiddon(const ScatterJob& job) { ScatterRays<Siddon>(job); }

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(ForwardSiddon);
HWY_EXPORT(ScatterSiddon);

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSiddon(ops::Session& session) {
  return NewRayForwardProject(session, [](const ForwardJob& job) {
    HWY_DYNAMIC_DISPATCH(ForwardSiddon)(job);
  });
}

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewMatchedBackprojectSiddon(
    ops::Session& session) {
  return NewRayMatchedBackproject(session, [](const ScatterJob& job) {
    HWY_DYNAMIC_DISPATCH(ScatterSiddon)(job);
  });
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
