// Tables of steps of bone behind water: what is read is legal, and too many lines end the reading.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernels/calibrate/bone_step.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto steps = calibrate::ParseBoneSteps({reinterpret_cast<const char*>(data), size});
  if (!steps.ok()) return 0;
  if (steps->size() > calibrate::kMostBoneSteps) std::abort();
  for (const calibrate::BoneStepFile& step : *steps) {
    const bool legal = !step.path.empty() && step.water_mm >= 0 &&
                       step.water_mm <= calibrate::kMostStepWaterMm && step.bone_mm >= 0 &&
                       step.bone_mm <= calibrate::kMostStepBoneMm;
    if (!legal) std::abort();
  }
  return 0;
}
