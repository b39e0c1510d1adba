#include "kernels/recon/iterative/method.h"

#include <cmath>

#include "kernels/recon/iterative/asd_pocs.h"
#include "kernels/recon/iterative/cgls.h"
#include "kernels/recon/iterative/fista_tv.h"
#include "kernels/recon/iterative/lsqr.h"
#include "kernels/recon/iterative/os_sqs.h"
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
    case Algorithm::kCgls:
      return Cgls::Create(system, b, x);
    case Algorithm::kLsqr:
      return Lsqr::Create(system, b, x);
    case Algorithm::kOsSqs:
      return OsSqs::Create(system, b, x);
    case Algorithm::kAsdPocs:
      return AsdPocs::Create(system, b, x);
    case Algorithm::kFistaTv:
      return FistaTv::Create(system, b, x);
  }
  return absl::InvalidArgumentError("the plan has no algorithm");
}

}  // namespace isocenter::recon
