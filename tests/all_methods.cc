#include "tests/all_methods.h"

#include "kernels/backends.h"
#include "kernels/cpu/published/register.h"

#ifdef ISOCENTER_HAS_CUDA
#include "kernels/cuda/published/register.h"
#endif

namespace isocenter {

const ops::Registry& AllMethods() {
  static const ops::Registry* const registry = [] {
    auto* all = new ops::Registry(Backends());
    cpu::RegisterPublished(*all);
#ifdef ISOCENTER_HAS_CUDA
    cuda::RegisterPublished(*all);
#endif
    return all;
  }();
  return *registry;
}

}  // namespace isocenter
