// RTK acquisitions: the geometry up to a NUL, then the MetaImage of projections.
#include <cstddef>
#include <cstdint>

#include "client/formats/rtk_acquisition.h"
#include "tests/fuzz/frames.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const auto geometry = fuzz::FileOf(input.TakeText(), "geometry.xml");
  const auto projections = fuzz::FileOf(input.TakeRest(), "projections.mha");
  fuzz::ReadFrames(formats::OpenRtkAcquisition(geometry, projections, 65535));
  return 0;
}
