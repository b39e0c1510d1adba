// The reference implementations of the operations (contracts: kernels/ops/operations.h).
#pragma once

#include <memory>

#include "kernels/ops/operations.h"

namespace isocenter::reference {

std::unique_ptr<ops::Preprocess> NewPreprocess();
std::unique_ptr<ops::RampFilter> NewRampFilter(const ops::RampFilterSpec& spec);
std::unique_ptr<ops::Backproject> NewBackprojectVoxel();
std::unique_ptr<ops::ToHounsfield> NewToHounsfield();

}  // namespace isocenter::reference
