#include "kernels/cpu/register.h"

namespace isocenter::cpu {

void Register(ops::Registry& registry) { (void)registry; }

}  // namespace isocenter::cpu
