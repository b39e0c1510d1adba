// Scatter of all frames from that of a few.
#pragma once

#include <span>
#include <vector>

namespace isocenter::scatter {

/// The frames that photons are followed in: `count` of `frames`, evenly spread, the first and the
/// last among them; all, where there are no more.
std::vector<int> SampledFrames(int count, int frames);

/// Of [row][column], in place: twice what a binomial kernel of a standard deviation of √3 cells
/// makes of it less what it makes of that again, so that slopes and curvatures stay while noise
/// goes (Tukey's twicing); not below 0. Cells at the border stand for those beyond.
void Smooth(int columns, int rows, std::span<double> cells);

/// Between what two sampled frames have, by the frame's number. `images`: one for each of
/// `sampled`, of one size.
std::vector<double> CellsAt(int frame, std::span<const int> sampled,
                            std::span<const std::vector<double>> images);

}  // namespace isocenter::scatter
