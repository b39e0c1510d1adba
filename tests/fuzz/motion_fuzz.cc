// Tables of an object's motion: what is read is legal, and so is every pose between.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernels/geometry/motion_curve.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto curve = ParseMotion({reinterpret_cast<const char*>(data), size});
  if (!curve.ok()) return 0;
  for (const RigidPose& pose : curve->AtFrames(17)) {
    // Each parameter stays between those of its knots, which are legal.
    const double most = std::sqrt(3.0) * kMostShiftMm;
    if (!(Norm(pose.shift_mm) <= most && Norm(pose.turn_rad) <= 3)) std::abort();
  }
  return 0;
}
