#include "kernels/calibrate/air_shadow.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

// A side of the detector in blocks: enough for edges, few enough that gains average out.
constexpr int kBlocksAcross = 24, kLeastBlock = 8, kMostBlock = 32, kLeastBlocks = 5;
constexpr int kPolishes = 10;
constexpr double kSigmaOfMedian = 1.2533;  // over that of the mean: √(π/2)

struct Blocks {
  int side = 0, columns = 0, rows = 0;
  std::vector<double> value;  // [row][column], ln(air); then without what is in common
  double sigma = 0;           // of a value

  double& at(int row, int column) { return value[size_t(row) * columns + column]; }
  double at(int row, int column) const { return value[size_t(row) * columns + column]; }
};

double Quantile(std::vector<double> values, double share) {
  const auto at = values.begin() + static_cast<int64_t>(share * double(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// `noise_share`: of which of the blocks, by their noise, it is taken.
Blocks MediansOfBlocks(std::span<const float> air, double noise_share, const Detector& detector) {
  Blocks blocks;
  blocks.side = std::clamp(std::min(detector.columns, detector.rows) / kBlocksAcross, kLeastBlock,
                           kMostBlock);
  blocks.columns = detector.columns / blocks.side;
  blocks.rows = detector.rows / blocks.side;
  std::vector<double> sigmas;
  for (int row = 0; row < blocks.rows; ++row) {
    for (int column = 0; column < blocks.columns; ++column) {
      std::vector<double> values;
      for (int v = row * blocks.side; v < (row + 1) * blocks.side; ++v) {
        for (int u = column * blocks.side; u < (column + 1) * blocks.side; ++u) {
          values.push_back(std::log(std::max(1e-3f, air[size_t(v) * detector.columns + u])));
        }
      }
      sigmas.push_back(RobustSigma(values));
      blocks.value.push_back(Median(std::move(values)));
    }
  }
  blocks.sigma = kSigmaOfMedian * Quantile(std::move(sigmas), noise_share) / blocks.side;
  return blocks;
}

void TakeOffWhatIsInCommon(Blocks& blocks) {
  for (int polish = 0; polish < kPolishes; ++polish) {
    for (int row = 0; row < blocks.rows; ++row) {
      std::vector<double> values;
      for (int column = 0; column < blocks.columns; ++column) {
        values.push_back(blocks.at(row, column));
      }
      const double median = Median(std::move(values));
      for (int column = 0; column < blocks.columns; ++column) blocks.at(row, column) -= median;
    }
    for (int column = 0; column < blocks.columns; ++column) {
      std::vector<double> values;
      for (int row = 0; row < blocks.rows; ++row) values.push_back(blocks.at(row, column));
      const double median = Median(std::move(values));
      for (int row = 0; row < blocks.rows; ++row) blocks.at(row, column) -= median;
    }
  }
}

struct Step {
  double size = 0;
  int row = 0, column = 0;  // on that side of it which departs more
};

// Three blocks along the edge on each side, two apart: the block between may have the edge in it.
void Widen(const Blocks& blocks, int row, int column, int by_row, int by_column, Step& largest) {
  double before = 0, after = 0;
  for (int k = -1; k <= 1; ++k) {
    before += blocks.at(row - by_row + k * by_column, column - by_column + k * by_row) / 3;
    after += blocks.at(row + by_row + k * by_column, column + by_column + k * by_row) / 3;
  }
  if (std::abs(after - before) <= largest.size) return;
  const int side = std::abs(after) > std::abs(before) ? 1 : -1;
  largest = {std::abs(after - before), row + side * by_row, column + side * by_column};
}

Step LargestStep(const Blocks& blocks) {
  Step largest;
  for (int row = 1; row + 1 < blocks.rows; ++row) {
    for (int column = 1; column + 1 < blocks.columns; ++column) {
      Widen(blocks, row, column, 0, 1, largest);
      Widen(blocks, row, column, 1, 0, largest);
    }
  }
  return largest;
}

double PercentOf(double logarithm) { return 100 * std::expm1(logarithm); }

// All blocks that hang together with the step's and depart half as much, to the same side.
AirShadow ShadowAt(const Blocks& blocks, const Step& step, const Detector& detector) {
  const double sign = blocks.at(step.row, step.column) < 0 ? -1 : 1;
  std::vector<bool> in(blocks.value.size());
  std::vector<std::pair<int, int>> next = {{step.row, step.column}};
  std::vector<double> depths;
  int first_row = step.row, last_row = step.row, first = step.column, last = step.column;
  while (!next.empty()) {
    const auto [row, column] = next.back();
    next.pop_back();
    if (row < 0 || row >= blocks.rows || column < 0 || column >= blocks.columns) continue;
    const size_t place = size_t(row) * blocks.columns + column;
    const bool of_step = row == step.row && column == step.column;
    if (in[place] || !(of_step || sign * blocks.value[place] >= step.size / 2)) continue;
    in[place] = true;
    depths.push_back(blocks.value[place]);
    first_row = std::min(first_row, row);
    last_row = std::max(last_row, row);
    first = std::min(first, column);
    last = std::max(last, column);
    for (const auto& [r, c] : {std::pair(1, 0), {-1, 0}, {0, 1}, {0, -1}}) {
      next.emplace_back(row + r, column + c);
    }
  }
  const double pixels = static_cast<double>(depths.size()) * blocks.side * blocks.side;
  return {.depth_percent = PercentOf(Median(std::move(depths))),
          .first_column = first * blocks.side,
          .last_column = (last + 1) * blocks.side - 1,
          .first_row = first_row * blocks.side,
          .last_row = (last_row + 1) * blocks.side - 1,
          .share_percent = 100 * pixels / (double{1} * detector.columns * detector.rows)};
}

bool TooSmall(const Detector& detector) {
  return std::min(detector.columns, detector.rows) < kLeastBlocks * kLeastBlock;
}

AirSteps StepsOf(const Blocks& blocks, double least_percent, const Detector& detector) {
  const Step largest = LargestStep(blocks);
  const double sigma = blocks.sigma * std::sqrt(2.0 / 3);
  AirSteps steps{.largest_percent = PercentOf(largest.size),
                 .legal_percent = std::max(least_percent, PercentOf(kLeastAirStepSigmas * sigma))};
  if (steps.largest_percent > steps.legal_percent) {
    steps.shadow = ShadowAt(blocks, largest, detector);
  }
  return steps;
}

}  // namespace

AirSteps FindAirSteps(std::span<const float> air, const Detector& detector) {
  if (TooSmall(detector)) return {};
  Blocks blocks = MediansOfBlocks(air, 0.5, detector);
  TakeOffWhatIsInCommon(blocks);
  return StepsOf(blocks, kLeastAirStepPercent, detector);
}

AirSteps FindChangeSteps(std::span<const float> change, double legal_percent,
                         const Detector& detector) {
  if (TooSmall(detector)) return {};
  // Behind a bow-tie noise is not the same everywhere.
  Blocks blocks = MediansOfBlocks(change, 0.95, detector);
  // Of the larger part, so that the smaller one is what departs.
  const double low = Quantile(blocks.value, 0.25), high = Quantile(blocks.value, 0.75);
  const double middle = Quantile(blocks.value, 0.5);
  const double most = middle - low < high - middle ? low : high;
  for (double& value : blocks.value) value -= most;
  return StepsOf(blocks, legal_percent, detector);
}

}  // namespace isocenter::calibrate
