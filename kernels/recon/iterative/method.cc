#include "kernels/recon/iterative/method.h"

#include <cmath>

#include "kernels/recon/iterative/sart.h"

namespace isocenter::recon {

double RelativeNorm(double part, double whole) { return whole > 0 ? std::sqrt(part / whole) : 0; }

absl::StatusOr<std::unique_ptr<Method>> NewMethod(LinearSystem& system, ProjectionVector& b,
                                                  VolumeVector& x) {
  switch (system.plan().settings.algorithm) {
    case Algorithm::kSirt:
    case Algorithm::kSart:
    case Algorithm::kOsSart:
      return Sart::Create(system, b, x);
    default:
      return absl::UnimplementedError("TEMP");
  }
}

}  // namespace isocenter::recon
