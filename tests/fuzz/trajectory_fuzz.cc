// Tables of projection matrices.
#include <cstddef>
#include <cstdint>

#include "kernels/geometry/trajectory.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)ReadTrajectoryCsv(fuzz::FileOf(data, size));
  return 0;
}
