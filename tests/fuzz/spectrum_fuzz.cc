// Tables of X-ray spectra.
#include <cstddef>
#include <cstdint>

#include "kernels/physics/spectrum.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)physics::ParseSpectrum({reinterpret_cast<const char*>(data), size});
  return 0;
}
