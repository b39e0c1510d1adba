#include "kernels/recon/iterative/method.h"

#include <cmath>

#include "kernels/recon/iterative/asd_pocs.h"
#include "kernels/recon/iterative/cgls.h"
#include "kernels/recon/iterative/fista_tv.h"
#include "kernels/recon/iterative/lsqr.h"
#include "kernels/recon/iterative/os_sqs/os_sqs.h"
#include "kernels/recon/iterative/sart.h"

namespace isocenter::recon {
namespace {

struct Entry {
  absl::StatusOr<std::unique_ptr<Method>> (*create)(LinearSystem&, ProjectionVector&,
                                                    VolumeVector&);
  MethodNeeds (*needs)(const RefinementPlan&);
};

template <class Made>
Entry EntryOf() {
  return {.create = [](LinearSystem& system, ProjectionVector& b, VolumeVector& x)
              -> absl::StatusOr<std::unique_ptr<Method>> { return Made::Create(system, b, x); },
          .needs = Made::Needs};
}

Entry MethodOf(const RefinementPlan& plan) {
  switch (plan.settings.algorithm) {
    case Algorithm::kCgls:
      return EntryOf<Cgls>();
    case Algorithm::kLsqr:
      return EntryOf<Lsqr>();
    case Algorithm::kOsSqs:
      return EntryOf<OsSqs>();
    case Algorithm::kAsdPocs:
      return EntryOf<AsdPocs>();
    case Algorithm::kFistaTv:
      return EntryOf<FistaTv>();
    case Algorithm::kSirt:
    case Algorithm::kSart:
    case Algorithm::kOsSart:
      break;
  }
  return EntryOf<Sart>();
}

}  // namespace

double RelativeNorm(double part, double whole) { return whole > 0 ? std::sqrt(part / whole) : 0; }

absl::StatusOr<std::unique_ptr<Method>> NewMethod(LinearSystem& system, ProjectionVector& b,
                                                  VolumeVector& x) {
  return MethodOf(system.plan()).create(system, b, x);
}

void Method::AddEarlyPass(int, Agenda&) {}

MethodNeeds NeedsOf(const RefinementPlan& plan) { return MethodOf(plan).needs(plan); }

}  // namespace isocenter::recon
