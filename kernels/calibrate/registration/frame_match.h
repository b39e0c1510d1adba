// How well a computed radiograph agrees with a measured frame, and which small changes of it would
// agree better.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace isocenter::calibrate {

/// What of line integrals is compared: their derivatives along u and v, per pixel, after a Gaussian
/// of `sigma_px`. Edges stay where they are whatever the HU of what they bound.
struct EdgeImage {
  int columns = 0, rows = 0;
  std::vector<float> along_u, along_v;  // [v][u]
};
EdgeImage EdgesOf(std::span<const float> lines, int columns, int rows, double sigma_px);

/// What the edges change by where the image's content is shifted by a pixel along u, and along v.
std::vector<EdgeImage> ChangesByShift(const EdgeImage& edges);

/// Pixels that count: those of `covered` ([v][u], 0 or 1) that are three sigma inside of it and of
/// the frame.
std::vector<uint8_t> WellInside(std::span<const uint8_t> covered, int columns, int rows,
                                double sigma_px);

/// Gradient correlation (Penney et al., IEEE TMI 17 (1998) 586): the mean of the correlations of
/// both derivatives over the pixels that count. -1 to 1; 0 where there is nothing to compare.
double GradientCorrelation(const EdgeImage& measured, const EdgeImage& computed,
                           std::span<const uint8_t> counts);

/// The normal equations of small changes x: `matrix` [i][j] x = `right`. They maximise the
/// correlation with the measured edges to first order (Evangelidis, Psarakis, IEEE TPAMI 30 (2008)
/// 1858): both are divided by the noise of the residuals, of which long ones (what has changed in
/// the object) count less (Huber). All zero where nothing is to be compared.
struct NormalEquations {
  std::vector<double> matrix, right;
};
NormalEquations Compare(const EdgeImage& measured, const EdgeImage& computed,
                        std::span<const EdgeImage> changes, std::span<const uint8_t> counts);

/// Solves symmetric equations of `right.size()` unknowns, to whose diagonal the share `damping` of
/// itself is added; unknowns without an equation become 0.
std::vector<double> Solve(std::span<const double> matrix, std::span<const double> right,
                          double damping);

}  // namespace isocenter::calibrate
