// What a pass of an iterative method costs, by which ways of keeping its vectors are compared.
#pragma once

#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/plan.h"

namespace isocenter::recon {

/// Seconds of a pass over all views, predicted for a device with memory of its own and the fastest
/// projectors: roughly, and what matters are their proportions. The slower projectors are, the less
/// the copies count that this is about.
double PassCost(const RefinementPlan& plan, const MethodNeeds& needs);

}  // namespace isocenter::recon
