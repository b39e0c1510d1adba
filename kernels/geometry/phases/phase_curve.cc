#include "kernels/geometry/phases/phase_curve.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/uniform.h"
#include "kernels/base/units.h"

namespace isocenter {
namespace {

// Standard normal (Box & Muller 1958), cut at two deviations.
double CutNormal(std::mt19937_64& generator) {
  const double radius = std::sqrt(-2 * std::log(1 - Uniform(generator)));
  return std::clamp(radius * std::cos(2 * kPi * Uniform(generator)), -2.0, 2.0);
}

}  // namespace

absl::StatusOr<std::vector<float>> PhasesOfFrames(const PhaseCurve& curve, int frames) {
  if (!(curve.cycles >= 0.5 && curve.cycles <= 1000)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cycles in the scan are ", curve.cycles, "; legal is 0.5 to 1000"));
  }
  if (!(curve.irregular >= 0 && curve.irregular <= 0.3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the cycles' irregularity is ", curve.irregular, "; legal is 0 to 0.3"));
  }
  if (frames < 1) {
    return absl::InvalidArgumentError(absl::StrCat("frames are ", frames, "; legal is 1 or more"));
  }
  std::mt19937_64 generator(curve.seed);
  double phase = Uniform(generator);
  const auto new_cycle = [&] { return 1 + curve.irregular * CutNormal(generator); };
  double length = new_cycle();
  std::vector<float> phases;
  for (int frame = 0; frame < frames; ++frame) {
    // Rounding to float must not make a 1 of it.
    phases.push_back(std::min(static_cast<float>(phase), std::nextafter(1.0F, 0.0F)));
    double left = curve.cycles / frames;  // mean cycles until the next frame
    while (phase + left / length >= 1) {
      left -= (1 - phase) * length;
      phase = 0;
      length = new_cycle();
    }
    phase += left / length;
  }
  return phases;
}

}  // namespace isocenter
