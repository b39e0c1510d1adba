#include "kernels/backends.h"

#include "kernels/cpu/register.h"
#include "kernels/reference/register.h"

namespace isocenter {

const ops::Registry& Backends() {
  static const ops::Registry* const registry = [] {
    auto* all = new ops::Registry;
    reference::Register(*all);
    cpu::Register(*all);
    return all;
  }();
  return *registry;
}

}  // namespace isocenter
