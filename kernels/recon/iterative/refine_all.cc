// RefineAll: FDK, then the refinement of its volume.
#include <algorithm>

#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter::recon {

namespace {

absl::Status Check(const RefinementPlan& plan, const ops::RawFrames& frames,
                   HostView3<const float> volume, std::span<const float> doses) {
  const Detector& detector = plan.acquisition.detector;
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("frames", frames.shape(),
                                          Shape3{plan.views(), detector.rows, detector.columns}));
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", volume.shape(), plan.grid.shape()));
  return CheckDoseCount(plan.views(), doses);
}

absl::StatusOr<std::vector<IterationReport>> Iterate(
    HostView3<const float> start, const RefinementPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices, const ops::RawFrames& frames, HostView3<float> volume,
    const std::function<bool(const IterationReport&)>& report, std::span<const float> doses) {
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

}  // namespace

absl::StatusOr<std::vector<IterationReport>> RefineAll(
    const RefinementPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices, const ops::RawFrames& frames, HostView3<float> volume,
    const std::function<bool(const IterationReport&)>& report, std::span<const float> doses) {
  ISO_RETURN_IF_ERROR(Check(plan, frames, volume, doses));
  HostView3<const float> start;
  if (plan.warm_start) {
    ISO_ASSIGN_OR_RETURN(const auto fdk,
                         Reconstructor::Create(*plan.warm_start, registry, devices));
    ISO_RETURN_IF_ERROR(fdk->Run(frames, volume, doses));
    start = volume;
  }
  return Iterate(start, plan, registry, devices, frames, volume, report, doses);
}

absl::StatusOr<std::vector<IterationReport>> RefineFrom(
    HostView3<const float> start, const RefinementPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices, const ops::RawFrames& frames, HostView3<float> volume,
    const std::function<bool(const IterationReport&)>& report, std::span<const float> doses) {
  ISO_RETURN_IF_ERROR(Check(plan, frames, volume, doses));
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume to begin with", start.shape(), plan.grid.shape()));
  if (plan.warm_start) {
    return absl::InvalidArgumentError(
        "the plan has a warm start, and a volume to begin with was given; legal is one of them");
  }
  return Iterate(start, plan, registry, devices, frames, volume, report, doses);
}

}  // namespace isocenter::recon
