// Scatter of all frames from that of a few.
#pragma once

#include <span>
#include <vector>

namespace isocenter::scatter {

/// The frames that photons are followed in: `count` of `frames`, evenly spread, the first and the
/// last among them; all, where there are no more.
std::vector<int> SampledFrames(int count, int frames);

/// By 1/4, 1/2, 1/4 along both axes of [row][column], in place; cells at the border stand for those
/// beyond.
void Smooth(int columns, int rows, std::span<double> cells);

/// Between what two sampled frames have, by the frame's number. `images`: one for each of
/// `sampled`, of one size.
std::vector<double> CellsAt(int frame, std::span<const int> sampled,
                            std::span<const std::vector<double>> images);

}  // namespace isocenter::scatter
