#include "kernels/recon/refinement_basis.h"

#include <algorithm>

namespace isocenter::recon {

int MostViewsAtOnce(const RefinementBasis& plan) {
  return std::max(plan.warm_start ? LargestChunk(*plan.warm_start) : 0, plan.chunk_views);
}

}  // namespace isocenter::recon
