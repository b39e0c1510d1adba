// Headerless voxel files: type and sizes, one byte each, then the file.
#include <cstddef>
#include <cstdint>

#include "client/formats/raw_volume.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const formats::RawLayout layout{
      .nx = input.TakeNumber<int8_t>(),
      .ny = input.TakeNumber<int8_t>(),
      .nz = input.TakeNumber<int8_t>(),
      .type = static_cast<formats::ElementType>(input.TakeNumber<uint8_t>() % 8)};
  (void)formats::ReadRawVolume(fuzz::FileOf(input.TakeRest()), layout);
  return 0;
}
