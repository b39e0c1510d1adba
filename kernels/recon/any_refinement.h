// Refinements of any kind, for who drives them without asking which: iterations, a second pass,
// completed rows, or a volume of one phase.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "kernels/recon/detruncation/detruncation_plan.h"
#include "kernels/recon/gating/gated_plan.h"
#include "kernels/recon/iterative/plan.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/second_pass/plan.h"

namespace isocenter::recon {

using RefinementSettings = std::variant<IterativeSettings, SecondPassSettings, GatedSettings>;
using AnyRefinementPlan = std::variant<RefinementPlan, SecondPassPlan, DetruncationPlan, GatedPlan>;

/// MakeRefinementPlan, MakeSecondPassPlan, MakeDetruncationPlan or MakeGatedPlan. Errors: theirs.
absl::StatusOr<AnyRefinementPlan> PlanRefinement(const Acquisition& acquisition,
                                                 const VolumeGrid& grid, const FdkSettings& fdk,
                                                 const RefinementSettings& settings,
                                                 const ops::Registry& registry,
                                                 std::span<const ops::Device* const> devices,
                                                 Arrival arrival);
const RefinementBasis& BasisOf(const AnyRefinementPlan& plan);
std::string PlanTextOf(const AnyRefinementPlan& plan);

/// Refinement::Create, NewSecondPass, NewDetruncation or NewGatedVolume, with what these demand.
absl::StatusOr<std::unique_ptr<Refinement>> NewRefinement(const AnyRefinementPlan& plan,
                                                          const ops::Registry& registry,
                                                          std::span<ops::Device* const> devices);

/// Sweeps of all voxels through all views after the first volume, for predicting time.
int SweepsOf(const RefinementSettings& settings);

}  // namespace isocenter::recon
