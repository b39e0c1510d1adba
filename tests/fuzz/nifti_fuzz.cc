// NIfTI-1 files, plain and with gzip.
#include <cstddef>
#include <cstdint>

#include "client/formats/nifti.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)formats::ReadNifti(fuzz::FileOf(data, size));
  return 0;
}
