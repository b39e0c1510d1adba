// Fan-beam scans: the description up to a NUL, then the values.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/formats/fan_beam_scan.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  fuzz::FileOf(input.TakeText(), "fan_beam.json");
  fuzz::FileOf(input.TakeRest(), "sinogram.raw");
  auto scan = formats::FanBeamScan::Open(fuzz::Directory());
  if (!scan.ok()) return 0;
  const FanBeamGeometry& geometry = scan->geometry();
  fuzz::Require(ValidateFanBeam(geometry).ok() && scan->slices() >= 1, "a scan is legal");
  // Its values are in the input: few.
  const Shape3 shape{geometry.views, scan->slices(), geometry.channels};
  std::vector<float> lines(shape.count());
  fuzz::Require(scan->Read(0, {lines.data(), shape}).ok(), "what was promised is there");
  return 0;
}
