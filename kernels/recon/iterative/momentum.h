// Nesterov's momentum.
#pragma once

#include <cmath>

namespace isocenter::recon {

/// The sequence t_1 = 1, t_(k+1) = (1 + sqrt(1 + 4 t_k^2)) / 2 of Beck & Teboulle, SIAM J. Imaging
/// Sci. 2 (2009) 183.
class Momentum {
 public:
  /// How far the next step looks ahead, (t_k - 1) / t_(k+1) of the last difference, in [0, 1);
  /// goes on to t_(k+1).
  double Advance() {
    const double next = (1 + std::sqrt(1 + 4 * t_ * t_)) / 2;
    const double further = (t_ - 1) / next;
    t_ = next;
    return further;
  }

 private:
  double t_ = 1;
};

}  // namespace isocenter::recon
