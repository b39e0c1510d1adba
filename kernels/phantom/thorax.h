// A chest whose heart beats or whose diaphragm goes up and down.
#pragma once

#include <memory>

#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {

enum class Organ { kHeart, kDiaphragm };

/// How far an organ is from its rest, 0 to 1, at a phase in [0, 1).
/// - heart: from the R wave on it contracts until 0.35, relaxes until 0.65, and rests;
/// - diaphragm: sin⁴(π·phase), at rest when breathed out (Lujan et al., Med. Phys. 26 (1999) 715).
double Excursion(Organ organ, double phase);

/// "thorax" of MakePhantom with an organ moved by `excursion`, 0 (rest) to 1: the ventricles shrink
/// by up to 35 % (left) and 25 % (right) of each axis, the muscle around them by 8 %, and a
/// calcified spot on it moves by 0.1 · scale; the diaphragm goes 0.15 · scale down, and half of
/// that the heart. `scale` in mm, `water` in 1/mm. All ellipsoids and cylinders: line integrals are
/// exact.
std::unique_ptr<Phantom> MakeThorax(double scale, double water, Organ organ, double excursion);

}  // namespace isocenter::phantom
