// Plans as text, for people.
#pragma once

#include <string>

#include "kernels/recon/detruncation/detruncation_plan.h"
#include "kernels/recon/gating/gated_plan.h"
#include "kernels/recon/iterative/plan.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/second_pass/plan.h"

namespace isocenter::recon {

/// All that was decided, a line each of "what: value", the same for the same plan: grid, frames,
/// methods, weights, chunks, slabs, and the bytes of each part of the memory.
std::string PlanText(const ReconstructionPlan& plan);
/// The same of iterations; that of the warm start is behind it.
std::string PlanText(const RefinementPlan& plan);
/// The same of a second pass; that of the first is behind it.
std::string PlanText(const SecondPassPlan& plan);
/// The same of completed rows; that of the frames as they are is behind it.
std::string PlanText(const DetruncationPlan& plan);
/// The same of a volume of one phase; those of the phase's frames and of the first are behind it.
std::string PlanText(const GatedPlan& plan);

}  // namespace isocenter::recon
