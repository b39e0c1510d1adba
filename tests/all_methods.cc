#include "tests/all_methods.h"

#include "kernels/backends.h"

#ifdef ISOCENTER_HAS_CUDA
#include "kernels/cuda/published/register.h"
#endif

namespace isocenter {

const ops::Registry& AllMethods() {
  static const ops::Registry* const registry = [] {
    auto* all = new ops::Registry(Backends());
#ifdef ISOCENTER_HAS_CUDA
    cuda::RegisterPublished(*all);
#endif
    return all;
  }();
  return *registry;
}

}  // namespace isocenter
