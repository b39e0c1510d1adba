// MetaImage files with their data inside, plain and deflated.
#include <cstddef>
#include <cstdint>

#include "client/formats/meta_image.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)formats::ReadMetaImage(fuzz::FileOf(data, size));
  return 0;
}
