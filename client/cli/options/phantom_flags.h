// What simulate and compare must agree on.
#pragma once

#include "absl/strings/string_view.h"

namespace isocenter::cli {

/// Scale of a phantom (kernels/phantom/phantom.h) that simulate and compare take unless one is
/// given: the largest round one that stays on the detector of the default geometry in every view.
/// The brain of "shepp-logan" then holds the regions of compare up to 60 mm from the axis.
inline double DefaultPhantomScaleMm(absl::string_view phantom) {
  if (phantom == "shepp-logan") return 100;
  if (phantom == "head") return 90;
  if (phantom == "catphan" || phantom == "thorax") return 100;
  return 80;
}

/// Attenuation of water that the simulator and the built-in protocols use.
inline constexpr double kMuWaterPerMm = 0.02;

}  // namespace isocenter::cli
