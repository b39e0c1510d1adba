// Line integrals by brute force, to hold the exact ones against.
#pragma once

#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {

/// Midpoint sum of `steps` samples over `length` mm from `source`.
inline double Quadrature(const Phantom& phantom, Vec3 source, Vec3 direction, double length,
                         int steps) {
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    sum += phantom.Attenuation(source + (length * (i + 0.5) / steps) * direction);
  }
  return sum * length / steps;
}

inline Vec3 UnitVector(Vec3 v) { return (1 / Norm(v)) * v; }

}  // namespace isocenter::phantom
