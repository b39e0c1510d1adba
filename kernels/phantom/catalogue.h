// The phantoms that have a name. `scale` in mm, attenuations relative to water times `water`
// (1/mm).
#pragma once

#include <memory>

#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {

std::unique_ptr<Phantom> MakeSheppLogan(double scale, double water);
std::unique_ptr<Phantom> MakeHead(double scale, double water);
std::unique_ptr<Phantom> MakeQuality(double scale, double water);
std::unique_ptr<Phantom> MakeCatphan(double scale, double water);
std::unique_ptr<Phantom> MakeRestingThorax(double scale, double water);

}  // namespace isocenter::phantom
