#include "kernels/recon/completeness/steps/piece_levels.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/median.h"
#include "kernels/base/units.h"
#include "kernels/geometry/angle_between.h"
#include "kernels/geometry/source_position.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kEveryRow = 2;
constexpr int kFrames = 8;          // on either side of a step
constexpr double kLeastSigmas = 6;  // of what frames scatter around their lines

struct Line {
  double middle = 0, slope = 0, squares = 0;  // left over
};

Line LineThrough(const double* levels) {
  Line line;
  double spread = 0;
  for (int i = 0; i < kFrames; ++i) {
    const double at = i - 0.5 * (kFrames - 1);
    line.middle += levels[i] / kFrames;
    line.slope += levels[i] * at;
    spread += at * at;
  }
  line.slope /= spread;
  for (int i = 0; i < kFrames; ++i) {
    const double rest = levels[i] - line.middle - line.slope * (i - 0.5 * (kFrames - 1));
    line.squares += rest * rest;
  }
  return line;
}

/// How far the lines before and after a level are apart, as far as that is more than is well.
double StepAt(const std::vector<double>& levels, int at, double least) {
  const Line before = LineThrough(&levels[at - kFrames]), after = LineThrough(&levels[at]);
  const double step = after.middle - before.middle - 0.5 * kFrames * (before.slope + after.slope);
  // Two lines have four parameters; a step has about the variance of one frame.
  const double sigma = std::sqrt((before.squares + after.squares) / (2 * kFrames - 4));
  return std::abs(step) > std::max(least, kLeastSigmas * sigma) ? step : 0;
}

}  // namespace

PieceLevels::PieceLevels(const Acquisition& acquisition)
    : acquisition_(acquisition), pieces_(acquisition.trajectory.size()) {}

void PieceLevels::Add(int view, std::span<const FrameRow> rows, double dose) {
  const int columns = acquisition_.detector.columns;
  if (columns < kPieces || pieces_.size() <= 2 * kFrames) return;
  std::vector<float>& pieces = pieces_[view];
  for (size_t i = 0; i < rows.size(); i += kEveryRow) {
    for (int piece = 0; piece < kPieces; ++piece) {
      const RowSum sum = SumOf(acquisition_, rows[i], piece * columns / kPieces, columns / kPieces);
      pieces.push_back(static_cast<float>(LineOf(acquisition_, sum, dose)));
    }
  }
}

bool PieceLevels::IsIn(const Part& part, size_t index) const {
  return part(static_cast<int>(index % kPieces), static_cast<int>(index / kPieces) * kEveryRow);
}

std::vector<double> PieceLevels::Jumps(int view, const Part& part) const {
  if (view < 2 || view + 1 >= static_cast<int>(pieces_.size())) return {};
  const std::vector<float>&a = pieces_[view - 2], &b = pieces_[view - 1], &c = pieces_[view],
        &d = pieces_[view + 1];
  if (a.empty() || b.empty() || c.empty() || d.empty()) return {};
  std::vector<double> jumps;
  for (size_t i = 0; i < c.size(); ++i) {
    if (IsIn(part, i)) jumps.push_back((c[i] - b[i]) - 0.5 * ((b[i] - a[i]) + (d[i] - c[i])));
  }
  return jumps;
}

std::vector<PieceLevels::Run> PieceLevels::Runs(const Part& part) const {
  std::vector<Run> runs;
  std::vector<double> differences;
  for (int view = 0; view < static_cast<int>(pieces_.size()); ++view) {
    const std::vector<float>& now = pieces_[view];
    if (now.empty()) continue;
    bool goes_on = view > 0 && !pieces_[view - 1].empty();
    if (goes_on) {
      const Vec3 a = SourceOf(acquisition_.trajectory[view - 1]),
                 b = SourceOf(acquisition_.trajectory[view]);
      goes_on = RadiansToDegrees(AngleBetween(a, b)) <= kMostGapDeg;
    }
    if (!goes_on) {
      runs.push_back({view, {0}});
      continue;
    }
    differences.clear();
    for (size_t i = 0; i < now.size(); ++i) {
      if (IsIn(part, i)) differences.push_back(now[i] - pieces_[view - 1][i]);
    }
    const double change = differences.empty() ? 0 : MedianOf(differences);
    runs.back().of_view.push_back(runs.back().of_view.back() + change);
  }
  return runs;
}

std::vector<LevelStep> StepsOf(std::span<const PieceLevels::Run> runs, double least,
                               const std::function<bool(const LevelStep&)>& is_one) {
  std::vector<LevelStep> steps;
  for (const PieceLevels::Run& run : runs) {
    const int views = static_cast<int>(run.of_view.size());
    for (int at = kFrames; at + kFrames <= views; ++at) {
      const LevelStep step{run.first + at, StepAt(run.of_view, at, least)};
      if (step.line == 0 || !is_one(step)) continue;
      if (steps.empty() || step.view - steps.back().view > kFrames) {
        steps.push_back(step);
      } else if (std::abs(step.line) > std::abs(steps.back().line)) {
        steps.back() = step;
      }
    }
  }
  return steps;
}

LevelStep LargestOf(std::span<const LevelStep> steps) {
  return *std::ranges::max_element(steps, {},
                                   [](const LevelStep& step) { return std::abs(step.line); });
}

}  // namespace isocenter::recon
