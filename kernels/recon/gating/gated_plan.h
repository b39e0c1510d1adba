// The plan of a volume of one phase, as a refinement of the volume of all frames: what is known
// before it begins.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/phases/phase_window.h"
#include "kernels/recon/iterative/plan.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/refinement_basis.h"

namespace isocenter::recon {

/// What a volume of one phase is made of.
struct GatedSettings {
  PhaseWindow window;
  /// By iterations that begin with the volume of all frames; none: by filtered back-projection.
  std::optional<IterativeSettings> iterative;
};

/// The views of a window, and the part of the arc that none of them was taken in.
struct Gate {
  ChosenViews chosen;
  double largest_gap = 0;  // radians
};

/// Of a scan whose frames have told these phases, one for each view; a frame that is lost has none
/// and is in no gate: what is computed in its place mixes phases. Errors: INVALID_ARGUMENT
/// (no phases at all, the window, fewer than kFewestGatedViews that count half: their number).
absl::StatusOr<Gate> GateOf(const Trajectory& scan, std::span<const std::optional<float>> phases,
                            const PhaseWindow& window);

/// Frames that lie further apart than so many degrees of the arc make streaks that are seen.
inline constexpr double kLargeGapDeg = 5;
bool HasLargeGap(const Gate& gate);

/// Immutable once made. Its acquisition is that of all frames, as they come; they become line
/// integrals first, because corrections of counts hang on the frames between those that are chosen
/// (ADR 0097). Its warm_start, of all frames, is there for iterations alone.
struct GatedPlan : RefinementBasis {
  PhaseWindow window;
  Gate gate;
  /// Of the line integrals of the chosen views. Iterations have no warm start of their own.
  std::variant<ReconstructionPlan, RefinementPlan> phase;

  const Acquisition& chosen() const;
};

/// A pure function of its arguments, as MakePlan, whose devices and `arrival` (of the warm start)
/// these are. `acquisition`: of all frames, with their phases. Errors: those of GateOf, MakePlan
/// and MakeRefinementPlan.
absl::StatusOr<GatedPlan> MakeGatedPlan(const Acquisition& acquisition, const VolumeGrid& grid,
                                        const FdkSettings& fdk, const GatedSettings& settings,
                                        const ops::Registry& registry,
                                        std::span<const ops::Device* const> devices,
                                        Arrival arrival = Arrival::kComplete);

/// Sweeps of all voxels through as many views as the whole scan has, at most, after the first
/// volume.
int SweepsOf(const GatedSettings& settings);

/// Push takes all frames of the scan. Start begins with its argument where there are iterations.
/// The same bits as those of the phase's frames, chosen from LineIntegralsOf, alone. `devices` are
/// those of the plan; they and `plan` must outlive it. Errors: RESOURCE_EXHAUSTED, NOT_FOUND.
absl::StatusOr<std::unique_ptr<Refinement>> NewGatedVolume(const GatedPlan& plan,
                                                           const ops::Registry& registry,
                                                           std::span<ops::Device* const> devices);

/// "phase 0.25, width 0.2: 61 of 300 frames, largest gap of the arc 11.2 degrees".
std::string GateText(const PhaseWindow& window, const Gate& gate, int views);

}  // namespace isocenter::recon
