// RefineAll: FDK, then the refinement of its volume.
#include <algorithm>

#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter::recon {

absl::StatusOr<std::vector<IterationReport>> RefineAll(
    const RefinementPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices, const ops::RawFrames& frames, HostView3<float> volume,
    const std::function<bool(const IterationReport&)>& report, std::span<const float> doses) {
  const Detector& detector = plan.acquisition.detector;
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("frames", frames.shape(),
                                          Shape3{plan.views(), detector.rows, detector.columns}));
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", volume.shape(), plan.grid.shape()));
  ISO_RETURN_IF_ERROR(CheckDoseCount(plan.views(), doses));
  HostView3<const float> start;
  if (plan.warm_start) {
    ISO_ASSIGN_OR_RETURN(const auto fdk,
                         Reconstructor::Create(*plan.warm_start, registry, devices));
    ISO_RETURN_IF_ERROR(fdk->Run(frames, volume, doses));
    start = volume;
  }
  ISO_ASSIGN_OR_RETURN(const auto refinement, Refinement::Create(plan, registry, devices));
  for (int view = 0; view < plan.views(); view += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, plan.views() - view);
    ISO_RETURN_IF_ERROR(
        refinement->Push(frames.views(view, count), {}, DosesOf(doses, view, count)));
  }
  ISO_RETURN_IF_ERROR(refinement->Start(start));
  for (bool done = false; !done;) {
    const size_t passes = refinement->reports().size();
    ISO_ASSIGN_OR_RETURN(done, refinement->Step());
    if (refinement->reports().size() == passes || report == nullptr) continue;
    if (!report(refinement->reports().back())) break;
  }
  ISO_RETURN_IF_ERROR(refinement->Read(volume));
  const auto reports = refinement->reports();
  return std::vector<IterationReport>(reports.begin(), reports.end());
}

}  // namespace isocenter::recon
