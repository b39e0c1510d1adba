// What simulate and compare must agree on.
#pragma once

namespace isocenter::cli {

/// Half of a phantom's largest extent. 85 mm stays inside of the field of view of the default
/// geometry (118 mm radius, 92 mm to either side along z at the isocentre) in every view.
inline constexpr double kDefaultPhantomScaleMm = 85;

/// Attenuation of water that the simulator and the built-in protocols use.
inline constexpr double kMuWaterPerMm = 0.02;

}  // namespace isocenter::cli
