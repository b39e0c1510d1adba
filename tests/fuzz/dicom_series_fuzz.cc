// Series of CT images as DICOM files: the length of one file, that file, and so on.
#include <cstddef>
#include <cstdint>

#include "client/formats/dicom_series.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kFiles = 3;
  fuzz::Input input(data, size);
  for (int i = 0; i < kFiles; ++i) {
    fuzz::FileOf(input.Take(input.TakeNumber<uint16_t>()),
                 std::string(1, static_cast<char>('a' + i)));
  }
  (void)formats::ReadDicomSeries(fuzz::Directory());
  return 0;
}
