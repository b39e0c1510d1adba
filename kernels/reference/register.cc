#include "kernels/reference/register.h"

namespace isocenter::reference {

void Register(ops::Registry& registry) { (void)registry; }

}  // namespace isocenter::reference
