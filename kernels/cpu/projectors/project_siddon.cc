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
#include "kernels/cpu/projectors/siddon_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

void ForwardSiddon(const ForwardJob& job) {
  Segments segments;
  const GridVoxels voxels{job.voxels};
  ForPlanesOfColumns(job, kRunPlanes,
                     [&](const RayView& view, int u, int first, int last) HWY_ATTR {
                       Heading heading;
                       if (SharesPath(view, u, heading) &&
                           AddSharedColumn(job, view, u, heading, first, last, segments)) {
                         return;
                       }
                       AddToColumn<Siddon>(job, voxels, view, u, first, last);
                     });
}

void ScatterSiddon(const ScatterJob& job) {
  std::vector<PathSegment> segments;
  UprightPixels pixels;
  ForColumnsOfViews(job, [&](const RayView& view, int u) HWY_ATTR {
    Heading heading;
    if (SharesPath(view, u, heading) &&
        (heading.axis != job.axis || ScatterSharedColumn(job, view, u, segments, pixels))) {
      return;
    }
    ScatterColumn<Siddon>(job, view, u);
  });
}

#else

void ForwardSiddon(const ForwardJob& job) { ForwardColumns<Siddon>(job); }
void ScatterSiddon(const ScatterJob& job) { ScatterRays<Siddon>(job); }

#endif

void SumRowsSiddon(const ForwardJob& job) { SumRowsOfColumns<Siddon>(job); }

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(ForwardSiddon);
HWY_EXPORT(ScatterSiddon);
HWY_EXPORT(SumRowsSiddon);

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

absl::StatusOr<std::unique_ptr<ops::RowSums>> NewRowSumsSiddon(ops::Session& session) {
  return NewRayRowSums(session, [](const ForwardJob& job) {
    HWY_DYNAMIC_DISPATCH(SumRowsSiddon)(job);
  });
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
