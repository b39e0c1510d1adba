// The file of `isocenter simulate --physics`, up to a NUL, and behind it the table of a spectrum
// that it may name ("table").
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/cli/options/physics_file.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

namespace {

void Use(const cli::PhysicsSetup& setup) {
  using fuzz::Require;
  Require(setup.effective_kev >= physics::kLeastKev && setup.effective_kev <= physics::kMostKev,
          "the effective energy is one of X-rays");
  const double share = setup.beam.absorbed_share();
  Require(share > 0 && share <= 1, "some of what reaches the screen is absorbed");
  const std::vector<double> air(setup.beam.materials().size(), 0);
  Require(std::abs(setup.beam.Behind(air).signal - 1) < 1e-9, "nothing attenuates nothing");
  const std::vector<double> body(setup.beam.materials().size(), 50);
  const physics::Reading behind = setup.beam.Behind(body);
  Require(behind.signal >= 0 && behind.signal < 1 && behind.variance >= 0, "a body attenuates");
  const physics::DetectorMaps maps = physics::MakeDetectorMaps(
      setup.detector, {.columns = 7, .rows = 5, .pitch_u_mm = 1, .pitch_v_mm = 1});
  for (const double offset : maps.offset_counts) Require(offset >= 0, "offsets are counts");
  for (const double gain : maps.gain) Require(gain > 0 && gain < 2, "gains are about 1");
  for (const double dose : physics::FrameDoses(setup.detector, 3)) {
    Require(dose > 0 && dose < 2, "doses are about 1");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const auto file = fuzz::FileOf(input.TakeText(), "physics.textproto");
  fuzz::FileOf(input.TakeRest(), "table");
  const auto setup = cli::ReadPhysicsFile(file, 1);
  if (setup.ok()) Use(*setup);
  return 0;
}
