#include "kernels/quality/second_scan.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::quality {
namespace {

constexpr char kNeeded[] =
    "; needed is a second scan of the phantom, of frames of its own, reconstructed as the first";

/// Whether the block's voxels are bit for bit the same.
bool Same(const VolumeView& first, const VolumeView& second) {
  const auto count = first.grid.voxels();
  return std::equal(first.voxels.data(), first.voxels.data() + count, second.voxels.data());
}

}  // namespace

absl::StatusOr<SecondScanNoise> MeasureSecondScan(const VolumeView& first, const VolumeView& second,
                                                  const NoiseBlock& block) {
  ISO_ASSIGN_OR_RETURN(const NoisePower of_first, MeasureNoisePower(first, block));
  ISO_ASSIGN_OR_RETURN(const NoisePower of_second, MeasureNoisePower(second, block));
  double variance = 0;
  if (!Same(first, second)) {
    ISO_ASSIGN_OR_RETURN(const NoisePower of_both, MeasureNoisePower(first, block, &second));
    variance = of_both.variance;
  }
  ISO_ASSIGN_OR_RETURN(const NoiseCorrelation closest, LargestCorrelation(first, second, block));
  ISO_ASSIGN_OR_RETURN(const double rings_of_first, RingShare(first, block));
  ISO_ASSIGN_OR_RETURN(const double rings_of_second, RingShare(second, block));
  const double geometric = std::sqrt(of_first.variance * of_second.variance);
  return SecondScanNoise{
      .first = std::sqrt(of_first.variance),
      .second = std::sqrt(of_second.variance),
      .difference = std::sqrt(variance),
      // var(a - b) = var a + var b - 2 cov(a, b), and `variance` is half of it.
      .correlation = (of_first.variance + of_second.variance - 2 * variance) / (2 * geometric),
      .closest = closest,
      .rings = std::min(rings_of_first, rings_of_second)};
}

double SecondScanNoise::noise_correlation() const {
  const double most = std::max(correlation, closest.value);
  return rings < 1 ? (most - rings) / (1 - rings) : 0;
}

absl::Status CheckSecondScan(const SecondScanNoise& noise) {
  const std::string figures = absl::StrFormat(
      "noise in the uniform module is %.4g and %.4g HU, that of the difference by √2 %.4g HU",
      noise.first, noise.second, noise.difference);
  if (std::max(noise.correlation, noise.closest.value) > kMostStructure ||
      noise.noise_correlation() > kMostCorrelation) {
    const NoiseCorrelation& at = noise.closest;
    return absl::FailedPreconditionError(absl::StrFormat(
        "the second scan does not look like one: %s. They correlate by %.2f, by %.2f with the "
        "second turned by %g degrees and moved by %g, %g, %g voxels, and rings about the isocentre "
        "explain %.2f of that; legal is at most %g of what rings leave, and %g in all: they are "
        "reconstructions of the same frames, or show the same structure%s",
        figures, noise.correlation, at.value, at.turn_deg, at.move_x, at.move_y, at.move_z,
        noise.rings, kMostCorrelation, kMostStructure, kNeeded));
  }
  const double ratio = std::max(noise.first, noise.second) / std::min(noise.first, noise.second);
  if (ratio > kMostNoiseRatio) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the second scan was not made as the first: %s; legal is a ratio of at most %g, since the "
        "difference has the noise of neither%s",
        figures, kMostNoiseRatio, kNeeded));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::quality
