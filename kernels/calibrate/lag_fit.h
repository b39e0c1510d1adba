// The lag of a detector, from a sweep whose beam is switched off.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/figure.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

inline constexpr int kMostFittedLagTerms = 4;
/// Frames of each kind that a sweep has at least.
inline constexpr int kLeastStepFrames = 20;
/// In the first dark frame, of the level before (%): below there is nothing to correct.
inline constexpr double kLeastLagPercent = 0.05;
/// How much of the dark frames' signal the fit explains at least (%, of its root mean square).
inline constexpr double kLeastLagRemovedPercent = 95;

/// Mean of the good pixels of a frame, relative to the empty beam of dose 1. `response` and
/// `defects` are legal for the frame's detector.
double MeanSignal(std::span<const uint16_t> counts, const ops::PixelResponse& response,
                  const ops::DefectMap& defects);

struct LagFit {
  std::vector<ops::LagTerm> terms;  // the fastest first
  int flat_frames = 0;              // before the beam was switched off
  std::vector<double> residual;     // of each dark frame, what the correction leaves
  Figures figures;
};

/// `signals`: MeanSignal of each frame of a sweep of flat frames, from rest, and dark ones after
/// them. The flat frames' doses may vary: what they expose follows from the terms themselves, as
/// ops::CorrectLag inverts them, and the terms are those that leave least of the dark frames
/// (Levenberg-Marquardt). Of fits with 1 to kMostFittedLagTerms terms, that with the least Bayesian
/// information criterion (Schwarz, Ann. Stat. 6 (1978) 461). Errors: INVALID_ARGUMENT (no such
/// sweep), FAILED_PRECONDITION (the figure and its bound).
absl::StatusOr<LagFit> FitLag(std::span<const double> signals);

}  // namespace isocenter::calibrate
