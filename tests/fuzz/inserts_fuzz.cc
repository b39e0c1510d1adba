// Tables of a phantom's inserts: what is read is legal, and too many lines end the reading.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernels/calibrate/hounsfield_fit.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto inserts = calibrate::ParseInserts({reinterpret_cast<const char*>(data), size});
  if (!inserts.ok()) return 0;
  if (inserts->size() < 2 || inserts->size() > 32) std::abort();
  for (const calibrate::Insert& insert : *inserts) {
    const bool legal = !insert.name.empty() && std::isfinite(insert.center.x) &&
                       std::isfinite(insert.center.y) && std::isfinite(insert.center.z) &&
                       insert.radius_mm >= 1 && insert.radius_mm <= 100 &&
                       std::isfinite(insert.true_hu);
    if (!legal) std::abort();
  }
  return 0;
}
