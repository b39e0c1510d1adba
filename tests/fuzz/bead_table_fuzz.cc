// Tables of a phantom's balls: what is read is legal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernels/geometry/phantom_tables/bead_table.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto table = ParseBeadTable({reinterpret_cast<const char*>(data), size});
  if (table.ok() && !CheckBeadTable(*table).ok()) std::abort();
  return 0;
}
