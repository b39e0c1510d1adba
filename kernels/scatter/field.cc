#include "kernels/scatter/field.h"

#include <algorithm>
#include <cstdint>

namespace isocenter::scatter {
namespace {

constexpr int kTimes = 6;  // standard deviation of √3 cells

// By 1/4, 1/2, 1/4; the ends stand for what is beyond them.
void SmoothLine(double* line, int count, int stride) {
  double before = line[0];
  for (int i = 0; i < count; ++i) {
    const double here = line[i * stride], after = line[std::min(i + 1, count - 1) * stride];
    line[i * stride] = (before + 2 * here + after) / 4;
    before = here;
  }
}

void SmoothOnce(int columns, int rows, std::span<double> cells) {
  for (int time = 0; time < kTimes; ++time) {
    for (int row = 0; row < rows; ++row) SmoothLine(&cells[row * columns], columns, 1);
    for (int column = 0; column < columns; ++column) SmoothLine(&cells[column], rows, columns);
  }
}

}  // namespace

std::vector<int> SampledFrames(int count, int frames) {
  std::vector<int> sampled;
  const int all = std::min(count, frames);
  for (int i = 0; i < all; ++i) {
    sampled.push_back(all == 1 ? 0 : static_cast<int>(int64_t{i} * (frames - 1) / (all - 1)));
  }
  return sampled;
}

void Smooth(int columns, int rows, std::span<double> cells) {
  std::vector<double> once(cells.begin(), cells.end());
  SmoothOnce(columns, rows, once);
  std::vector<double> twice = once;
  SmoothOnce(columns, rows, twice);
  for (size_t i = 0; i < cells.size(); ++i) cells[i] = std::max(0.0, 2 * once[i] - twice[i]);
}

std::vector<double> CellsAt(int frame, std::span<const int> sampled,
                            std::span<const std::vector<double>> images) {
  const auto above = std::upper_bound(sampled.begin(), sampled.end(), frame);
  if (above == sampled.begin()) return images.front();
  if (above == sampled.end()) return images.back();
  const auto next = static_cast<size_t>(above - sampled.begin());
  const double share =
      static_cast<double>(frame - sampled[next - 1]) / (sampled[next] - sampled[next - 1]);
  std::vector<double> cells = images[next - 1];
  for (size_t i = 0; i < cells.size(); ++i) cells[i] += share * (images[next][i] - cells[i]);
  return cells;
}

}  // namespace isocenter::scatter
