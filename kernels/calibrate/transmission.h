// What a frame lets through of the empty beam.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// (count - offset) / air of each pixel, [v][u]; not a number where one is defective. `response`
/// and `defects` are legal for the frame's detector.
std::vector<float> Normalized(std::span<const uint16_t> counts, const ops::PixelResponse& response,
                              const ops::DefectMap& defects);

/// More than the noise of a tile's mean, and less than what makes a fit worse: a tile that the
/// object's border crosses.
inline constexpr double kSameAir = 0.003;
/// What halves of a tile of air may differ by (line integral): the shadow of a round body's border
/// falls off steeply. Heel, filter and gains are in the air that counts are divided by.
inline constexpr double kFlatAir = 0.03;

/// That divided by the frame's dose, the mean of all tiles of ops::kAirTile pixels within kSameAir
/// of the brightest, so that air must be seen somewhere. `dose` gets it, if it is not nullptr.
/// Errors: FAILED_PRECONDITION (the brightest tile is not ops::kLeastDose to ops::kMostDose: no
/// air; the halves of such tiles, from side to side or from top to bottom, differ by more than
/// kFlatAir in the middle: the object shades them).
absl::StatusOr<std::vector<float>> Transmission(std::span<const uint16_t> counts,
                                                const ops::PixelResponse& response,
                                                const ops::DefectMap& defects,
                                                const Detector& detector, double* dose = nullptr);
/// The same of a frame that is Normalized.
absl::StatusOr<std::vector<float>> Transmission(std::vector<float> frame, const Detector& detector,
                                                double* dose = nullptr);

}  // namespace isocenter::calibrate
