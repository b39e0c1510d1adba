// Rotational X-ray runs as DICOM files, compressed ones among them.
#include <cstddef>
#include <cstdint>

#include "client/formats/dicom/file_bounds.h"
#include "client/formats/dicom/xa_run.h"
#include "tests/fuzz/frames.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = fuzz::FileOf(data, size);
  (void)formats::IsDicomFile(file);
  fuzz::ReadFrames(formats::OpenXaRun(file, {}, {}));
  return 0;
}
