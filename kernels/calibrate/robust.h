// Statistics that a few wrong values do not move.
#pragma once

#include <span>
#include <vector>

namespace isocenter::calibrate {

/// The middle one in size, the upper of two. `values` are not empty, and finite.
double Median(std::vector<double> values);

/// The standard deviation of normally distributed values, by their median absolute deviation from
/// the median (1.4826 of it: Rousseeuw, Croux, J. Am. Stat. Assoc. 88 (1993) 1273).
double RobustSigma(std::vector<double> values);

/// Every n-th of the values, at most `most` of them: enough for a median.
std::vector<double> Thinned(std::span<const float> values, size_t most);

}  // namespace isocenter::calibrate
