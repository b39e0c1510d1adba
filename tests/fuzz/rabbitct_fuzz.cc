// RabbitCT data sets of both versions.
#include <cstddef>
#include <cstdint>

#include "client/formats/rabbitct.h"
#include "tests/fuzz/frames.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::ReadFrames(formats::OpenRabbitCt(fuzz::FileOf(data, size)));
  return 0;
}
