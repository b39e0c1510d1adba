#include "kernels/recon/second_pass/compute_scatter.h"

#include <algorithm>

#include "kernels/base/status_macros.h"
#include "kernels/recon/second_pass/line_store.h"

namespace isocenter::recon {

absl::StatusOr<ComputedScatter> ComputeScatter(const SecondPassPlan& plan,
                                               const ops::Registry& registry,
                                               std::span<ops::Device* const> devices,
                                               const ops::RawFrames& frames) {
  ISO_ASSIGN_OR_RETURN(const auto store,
                       LineStore::Create(plan, LinesOf(plan), registry, *devices[0]));
  for (int view = 0; view < plan.views(); view += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, plan.views() - view);
    ISO_RETURN_IF_ERROR(store->Push(frames.views(view, count), {}, {}));
  }
  store->Close();
  ScatterPass pass(*plan.scatter, registry, devices, devices[0]->limits().threads,
                   ScatterPass::Frames::kPrimary);
  ISO_RETURN_IF_ERROR(pass.Bin(*store));
  for (bool done = false; !done;) {
    ISO_ASSIGN_OR_RETURN(done, pass.ReconstructStep());
  }
  ISO_RETURN_IF_ERROR(pass.Estimate());
  ComputedScatter computed{.findings = pass.findings(), .cells = {}};
  for (const int view : plan.scatter->sampled) computed.cells.push_back(pass.CellsAt(view));
  return computed;
}

}  // namespace isocenter::recon
