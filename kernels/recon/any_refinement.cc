#include "kernels/recon/any_refinement.h"

#include "kernels/base/status_macros.h"
#include "kernels/recon/detruncation/detruncate.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/second_pass/second_pass.h"

namespace isocenter::recon {

absl::StatusOr<AnyRefinementPlan> PlanRefinement(const Acquisition& acquisition,
                                                 const VolumeGrid& grid, const FdkSettings& fdk,
                                                 const RefinementSettings& settings,
                                                 const ops::Registry& registry,
                                                 std::span<const ops::Device* const> devices,
                                                 Arrival arrival) {
  if (const auto* const second = std::get_if<SecondPassSettings>(&settings)) {
    if (second->complete_rows) {
      ISO_RETURN_IF_ERROR(ValidateSecondPassSettings(*second));
      return MakeDetruncationPlan(acquisition, grid, fdk, registry, devices, arrival);
    }
    return MakeSecondPassPlan(acquisition, grid, fdk, *second, registry, devices, arrival);
  }
  if (const auto* const gated = std::get_if<GatedSettings>(&settings)) {
    return MakeGatedPlan(acquisition, grid, fdk, *gated, registry, devices, arrival);
  }
  return MakeRefinementPlan(acquisition, grid, fdk, std::get<IterativeSettings>(settings), registry,
                            devices, arrival);
}

const RefinementBasis& BasisOf(const AnyRefinementPlan& plan) {
  return std::visit([](const auto& made) -> const RefinementBasis& { return made; }, plan);
}

std::string PlanTextOf(const AnyRefinementPlan& plan) {
  return std::visit([](const auto& made) { return PlanText(made); }, plan);
}

absl::StatusOr<std::unique_ptr<Refinement>> NewRefinement(const AnyRefinementPlan& plan,
                                                          const ops::Registry& registry,
                                                          std::span<ops::Device* const> devices) {
  if (const auto* const second = std::get_if<SecondPassPlan>(&plan)) {
    return NewSecondPass(*second, registry, devices);
  }
  if (const auto* const completed = std::get_if<DetruncationPlan>(&plan)) {
    return NewDetruncation(*completed, registry, devices);
  }
  if (const auto* const gated = std::get_if<GatedPlan>(&plan)) {
    return NewGatedVolume(*gated, registry, devices);
  }
  return Refinement::Create(std::get<RefinementPlan>(plan), registry, devices);
}

int SweepsOf(const RefinementSettings& settings) {
  if (const auto* const second = std::get_if<SecondPassSettings>(&settings)) {
    return SweepsOf(*second);
  }
  if (const auto* const gated = std::get_if<GatedSettings>(&settings)) return SweepsOf(*gated);
  // Forward and back for each iteration.
  const auto& iterative = std::get<IterativeSettings>(settings);
  const int early = iterative.warm_start ? 0 : iterative.early_passes;
  return 2 * (early + iterative.iterations);
}

}  // namespace isocenter::recon
