#include "kernels/recon/gating/refine_cycle.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"
#include "kernels/recon/gating/along_cycle.h"
#include "kernels/recon/gating/gated_frames.h"
#include "kernels/recon/iterative/refinement.h"

namespace isocenter::recon {

absl::Status ValidateCycleSettings(const CycleSettings& cycle, const IterativeSettings& settings) {
  ISO_RETURN_IF_ERROR(CheckCycleStrength(cycle.strength_hu));
  if (cycle.rounds < 1 || cycle.rounds > settings.iterations) {
    return absl::InvalidArgumentError(absl::StrCat("the cycle's rounds are ", cycle.rounds,
                                                   "; legal is 1 to the iterations, which are ",
                                                   settings.iterations));
  }
  return absl::OkStatus();
}

absl::Status RefineCycle(const CycleScan& scan, const VolumeGrid& grid, const FdkSettings& fdk,
                         const IterativeSettings& settings, const CycleSettings& cycle,
                         const ops::Registry& registry, std::span<ops::Device* const> devices,
                         HostView3<const float> start, std::span<const HostView3<float>> volumes,
                         const std::function<void(size_t window, const IterationReport&)>& report) {
  ISO_RETURN_IF_ERROR(ValidateCycleSettings(cycle, settings));
  if (devices.empty())
    return absl::InvalidArgumentError("there are no devices; legal is 1 or more");
  if (volumes.size() != scan.windows.size()) {
    return absl::InvalidArgumentError(absl::StrCat("volumes are ", volumes.size(), "; legal is ",
                                                   scan.windows.size(), ", one for each phase"));
  }
  ThreadPool pool(std::max(1, devices[0]->limits().threads));
  int made = 0;
  for (int round = 0; round < cycle.rounds; ++round) {
    IterativeSettings share = settings;
    share.iterations = settings.iterations * (round + 1) / cycle.rounds - made;
    for (size_t i = 0; i < volumes.size(); ++i) {
      ISO_ASSIGN_OR_RETURN(const GatedFrames frames,
                           ChooseFrames(scan.scan, scan.lines, scan.phases, scan.windows[i]));
      ISO_ASSIGN_OR_RETURN(
          const RefinementPlan plan,
          MakeRefinementPlan(frames.acquisition, grid, fdk, share, registry, devices));
      const auto told = [&](IterationReport done) {
        done.iteration += made;
        if (report != nullptr) report(i, done);
        return true;
      };
      ISO_RETURN_IF_ERROR(RefineFrom(round == 0 ? start : HostView3<const float>(volumes[i]), plan,
                                     registry, devices, frames.view(), volumes[i], told)
                              .status());
    }
    if (cycle.strength_hu > 0) {
      ISO_RETURN_IF_ERROR(SmoothAlongCycle(volumes, cycle.strength_hu, pool));
    }
    made += share.iterations;
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
