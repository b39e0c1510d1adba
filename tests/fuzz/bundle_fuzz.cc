// Bundles: description and header up to a NUL each, then the frames.
#include <cstddef>
#include <cstdint>

#include "client/formats/bundle.h"
#include "tests/fuzz/frames.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  fuzz::FileOf(input.TakeText(), "bundle.json");
  fuzz::FileOf(input.TakeText(), "acquisition.textproto");
  fuzz::FileOf(input.TakeRest(), "frames.raw");
  fuzz::ReadFrames(formats::OpenBundle(fuzz::Directory()));
  return 0;
}
