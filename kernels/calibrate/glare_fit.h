// The glare of a detector, from the shadow of something opaque.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/figure.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

inline constexpr int kMostFittedGlareTerms = 3;
/// Blocks of 4 x 4 pixels within the shadow, and within the light, at least: those whose neighbours
/// are in it, too.
inline constexpr int kLeastGlareBlocks = 100;
/// Behind what is opaque, of air (%): below there is nothing to correct.
inline constexpr double kLeastGlarePercent = 0.1;
/// How much of the signal behind it the fit explains at least (%, of its root mean square).
inline constexpr double kLeastGlareRemovedPercent = 80;

struct GlareFit {
  std::vector<ops::SpreadTerm> terms;  // the narrowest first
  Figures figures;
  /// Along the row of blocks with most shadow: the signal and what the fit leaves of it, of air.
  struct Point {
    double mm = 0, signal = 0, left = 0;
  };
  std::vector<Point> profile;
};

/// `frame`: of a disk or an edge of lead in the empty beam, the mean of its frames relative to the
/// empty beam (Normalized), [v][u]. What is less than half as bright as the light is opaque and
/// gets nothing but glare; the air map has glare, too. With x the light without glare, y the frame,
/// G normalised Gaussians on blocks and 1 the empty beam:
///   y·(1 - Σ share·(1 - G*1)) = x + Σ share·(G*x - x),
/// which is linear in the shares, least squares over blocks that no edge is near. Widths are
/// tried on a fixed grid, from those that ops::CorrectGlare does not leave out to a third of the
/// detector; of all one to kMostFittedGlareTerms of them with shares above 0, those with the least
/// Bayesian information criterion (Schwarz, Ann. Stat. 6 (1978) 461). The disk method is that of
/// Seibert, Nalcioglu, Roeck, Med. Phys. 11 (1984) 172. Errors: FAILED_PRECONDITION (the figure and
/// its bound).
absl::StatusOr<GlareFit> FitGlare(std::span<const float> frame, const Detector& detector);

}  // namespace isocenter::calibrate
