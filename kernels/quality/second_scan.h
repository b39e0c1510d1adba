// Whether a second scan of a phantom is one: noise is halved in a difference of two scans, and gone
// in that of two reconstructions of the same frames.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/quality/noise_correlation.h"
#include "kernels/quality/noise_power.h"

namespace isocenter::quality {

/// Standard deviations in one block of a uniform module, each slice less its trend, in HU.
struct SecondScanNoise {
  double first = 0, second = 0;
  double difference = 0;  // of the two scans, by √2
  /// Pearson's, of the voxels of the two: 0 of two scans, near 1 of two reconstructions of the same
  /// frames, between them of structure that both scans show beside their noise.
  double correlation = 0;
  /// Where they are most alike: the second may have been turned or moved a little.
  NoiseCorrelation closest;
  /// What rings have of the variance of both (RingShare): structure, which both scans show.
  double rings = 0;

  /// Of what is left beside rings: that of the noise.
  double noise_correlation() const;
};

/// Errors: those of MeasureNoisePower, but 0 for the difference of scans that are the same.
absl::StatusOr<SecondScanNoise> MeasureSecondScan(const VolumeView& first, const VolumeView& second,
                                                  const NoiseBlock& block);

/// At a correlation r of the noise the difference has 1 - r of its power, and d' is too large by
/// 1/√(1 - r): 20 % at this one. Noise alone reaches 0.02 in blocks of 10,000 independent voxels.
inline constexpr double kMostCorrelation = 0.3;
/// Of all that two scans show, rings with their noise.
inline constexpr double kMostStructure = 0.9;
/// Of two scans under the same conditions noise differs by a few per cent.
inline constexpr double kMostNoiseRatio = 1.25;

/// FAILED_PRECONDITION with the figures and what is needed, where the second cannot be a scan of
/// its own under the same conditions, whatever its file says.
absl::Status CheckSecondScan(const SecondScanNoise& noise);

}  // namespace isocenter::quality
