// What simulate and compare must agree on.
#pragma once

namespace isocenter::cli {

/// Scale of the phantoms (kernels/phantom/phantom.h). At 80 mm each of them stays on the detector
/// of the default geometry in every view.
inline constexpr double kDefaultPhantomScaleMm = 80;

/// Attenuation of water that the simulator and the built-in protocols use.
inline constexpr double kMuWaterPerMm = 0.02;

}  // namespace isocenter::cli
