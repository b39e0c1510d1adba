// A row that the detector cuts, with what it goes on as.
#pragma once

#include <span>

namespace isocenter::recon {

/// `extended` is `row` with as many pixels more on either side as makes its size, at most half of
/// the row's: those of ops::Truncation::kCylinder.
void ExtendRow(std::span<const double> row, std::span<double> extended);

}  // namespace isocenter::recon
