// The first volume, then what corrects it.
#include "kernels/recon/second_pass/reconstruct_twice.h"

#include <algorithm>

#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter::recon {

absl::Status ReconstructTwice(const RefinementBasis& plan, const RefinementMaker& make,
                              const ops::Registry& registry, std::span<ops::Device* const> devices,
                              const ops::RawFrames& frames, HostView3<float> volume,
                              std::span<const float> doses, std::vector<std::string>* findings) {
  const Detector& detector = plan.acquisition.detector;
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("frames", frames.shape(),
                                          Shape3{plan.views(), detector.rows, detector.columns}));
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", volume.shape(), plan.grid.shape()));
  ISO_RETURN_IF_ERROR(CheckDoseCount(plan.views(), doses));
  {
    ISO_ASSIGN_OR_RETURN(const auto first,
                         Reconstructor::Create(*plan.warm_start, registry, devices));
    ISO_RETURN_IF_ERROR(first->Run(frames, volume, doses));
  }
  ISO_ASSIGN_OR_RETURN(const auto second, make());
  for (int view = 0; view < plan.views(); view += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, plan.views() - view);
    ISO_RETURN_IF_ERROR(second->Push(frames.views(view, count), {}, DosesOf(doses, view, count)));
  }
  ISO_RETURN_IF_ERROR(second->Start(volume));
  for (bool done = false; !done;) {
    ISO_ASSIGN_OR_RETURN(done, second->Step());
  }
  if (findings != nullptr) *findings = second->findings();
  return second->Read(volume);
}

}  // namespace isocenter::recon
