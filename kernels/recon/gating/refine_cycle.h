// All phases of a cycle together: what one phase's views cannot tell, its neighbours do.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/geometry/phases/phase_window.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/plan.h"

namespace isocenter::recon {

/// A scan of a moving organ, and the parts of the cycle that volumes are made of.
struct CycleScan {
  const Acquisition& scan;        // of all frames
  std::span<const float> lines;   // theirs, [view][v][u] (line_integrals.h)
  std::span<const float> phases;  // one for each view
  std::span<const PhaseWindow> windows;
};

/// How the volumes of a cycle are held together.
struct CycleSettings {
  /// Of SmoothAlongCycle after each round; 0: each phase for itself.
  double strength_hu = 0;
  /// The passes of each phase are so many rounds, between which the phases learn of each other;
  /// 1 to the passes.
  int rounds = 4;
};

/// Errors: INVALID_ARGUMENT (the field, its value, what is legal).
absl::Status ValidateCycleSettings(const CycleSettings& cycle, const IterativeSettings& settings);

/// Refines one volume of each window. In each round every phase's volume makes its share of
/// settings.iterations passes with its own frames, beginning with `start` (HU, [z][y][x]: the
/// volume of all frames) in the first round and with what the round before left in the others; then
/// SmoothAlongCycle. So data and agreement of the phases alternate as data and total variation do
/// within ASD-POCS. `volumes`: one for each window, [z][y][x]. `settings` has no warm start.
/// `report`: after each pass, with the window's index and the passes that its volume has had.
/// Errors: those of ChooseFrames, MakeRefinementPlan, RefineFrom and ValidateCycleSettings;
/// INVALID_ARGUMENT (other than one volume for each window,
/// no device).
absl::Status RefineCycle(
    const CycleScan& scan, const VolumeGrid& grid, const FdkSettings& fdk,
    const IterativeSettings& settings, const CycleSettings& cycle, const ops::Registry& registry,
    std::span<ops::Device* const> devices, HostView3<const float> start,
    std::span<const HostView3<float>> volumes,
    const std::function<void(size_t window, const IterationReport&)>& report = nullptr);

}  // namespace isocenter::recon
