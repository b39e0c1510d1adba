// Offsets, gains and defects of a detector, from sweeps of dark and flat frames.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/defects.h"
#include "kernels/calibrate/figure.h"
#include "kernels/calibrate/sweep.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// Median counts of flat frames above the offset: below, read-out noise and rounding count.
inline constexpr double kLeastFlatCounts = 1000;
/// What saturates is not measured: of all pixels, how many may (%). Hot pixels do, too.
inline constexpr double kMostSaturatedPercent = 5;
/// Noise that the frames' means still have: of the air map (% of it), and of the offset map (% of
/// the flat frames' level). It is the same in all views, and becomes rings.
inline constexpr double kMostAirNoisePercent = 0.2;
inline constexpr double kMostOffsetNoisePercent = 0.01;
/// How much the dark level may change during its sweep (% of the flat frames' level): an exposure
/// before it that still decays would.
inline constexpr double kMostDarkDriftPercent = 0.02;

/// How much the air map may differ over the detector before something is held to be in the beam (%
/// of its median, the middle nine tenths of the pixels): heel, filters and distance do less, a
/// bow-tie more.
inline constexpr double kMostUnevennessPercent = 50;

struct DetectorFit {
  ops::PixelResponse response;
  FoundDefects defects;
  Figures figures;  // those of the defects included
  std::vector<std::string> warnings;
};

/// The dark frames' means, to be given to FlatFrames.
std::vector<float> OffsetMap(const SweepStatistics& dark);

/// Offset: the dark mean. Air: the flat frames' mean above it, where each is divided by its own
/// level and dose 1 is the level in the second half of the sweep. Defective pixels get what is
/// usual around them. Errors: FAILED_PRECONDITION with the figure and its bound, those of
/// FindDefects.
absl::StatusOr<DetectorFit> FitDetector(const SweepStatistics& dark, const FlatFrames& flat,
                                        const Detector& detector);

}  // namespace isocenter::calibrate
