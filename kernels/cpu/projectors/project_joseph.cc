#include "kernels/cpu/device/highway_targets.h"
#include "kernels/cpu/projectors/methods.h"
#include "kernels/cpu/projectors/ray_projector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/projectors/project_joseph.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come before the headers that it compiles once per target.
#include "hwy/highway.h"
#include "kernels/cpu/projectors/joseph_columns-inl.h"
#include "kernels/cpu/projectors/project_columns-inl.h"
#include "kernels/cpu/projectors/scatter_rays-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2
void ForwardJoseph(const ForwardJob& job) {
  std::vector<JosephBlock> blocks;
  const GridVoxels voxels{job.voxels};
  ForPlanesOfColumns(
      job, kJosephPlanes, [&](const RayView& view, int u, int first, int last) HWY_ATTR {
        if (AddJosephColumn(job, view, u, first, last, blocks)) return;
        for (int run = first; run < last; run += kRunPlanes) {
          AddToColumn<Joseph>(job, voxels, view, u, run, std::min(run + kRunPlanes, last));
        }
      });
}
#else
void ForwardJoseph(const ForwardJob& job) { ForwardColumns<Joseph>(job); }
#endif
void ScatterJoseph(const ScatterJob& job) { ScatterRays<Joseph>(job); }

void SumRowsJoseph(const ForwardJob& job) { SumRowsOfColumns<Joseph>(job); }

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(ForwardJoseph);
HWY_EXPORT(ScatterJoseph);
HWY_EXPORT(SumRowsJoseph);

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJoseph(ops::Session& session) {
  return NewRayForwardProject(session, [](const ForwardJob& job) {
    HWY_DYNAMIC_DISPATCH(ForwardJoseph)(job);
  });
}

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewMatchedBackprojectJoseph(
    ops::Session& session) {
  return NewRayMatchedBackproject(session, [](const ScatterJob& job) {
    HWY_DYNAMIC_DISPATCH(ScatterJoseph)(job);
  });
}

absl::StatusOr<std::unique_ptr<ops::RowSums>> NewRowSumsJoseph(ops::Session& session) {
  return NewRayRowSums(session, [](const ForwardJob& job) {
    HWY_DYNAMIC_DISPATCH(SumRowsJoseph)(job);
  });
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
