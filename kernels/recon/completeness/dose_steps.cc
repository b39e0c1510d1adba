#include "kernels/recon/completeness/dose_steps.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/median.h"
#include "kernels/base/units.h"
#include "kernels/geometry/source_position.h"
#include "kernels/ops/corrections.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kPieces = 32;  // of a row
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

struct Step {
  int view = 0;  // the first after it
  double line = 0;
};

/// How far the lines before and after a level are apart, as far as that is more than is well.
double StepAt(const std::vector<double>& levels, int at) {
  const Line before = LineThrough(&levels[at - kFrames]), after = LineThrough(&levels[at]);
  const double step = after.middle - before.middle - 0.5 * kFrames * (before.slope + after.slope);
  // Two lines have four parameters; a step has about the variance of one frame.
  const double sigma = std::sqrt((before.squares + after.squares) / (2 * kFrames - 4));
  return std::abs(step) > std::max(DoseSteps::kMostStep, kLeastSigmas * sigma) ? step : 0;
}

}  // namespace

DoseSteps::DoseSteps(const Acquisition& acquisition)
    : acquisition_(acquisition), pieces_(acquisition.trajectory.size()) {
  judges_ = acquisition.detector.columns >= kPieces && pieces_.size() > 2 * kFrames;
}

void DoseSteps::Add(int view, std::span<const FrameRow> rows, double dose) {
  const bool strips = acquisition_.calibration != nullptr &&
                      acquisition_.calibration->air.columns >= ops::kAirTile && !(dose > 0);
  if (!judges_ || strips) return;
  const int columns = acquisition_.detector.columns / kPieces;
  std::vector<float>& pieces = pieces_[view];
  for (size_t i = 0; i < rows.size(); i += kEveryRow) {
    for (int piece = 0; piece < kPieces; ++piece) {
      pieces.push_back(static_cast<float>(
          LineOf(acquisition_, SumOf(acquisition_, rows[i], piece * columns, columns), dose)));
    }
  }
}

std::vector<DoseSteps::Levels> DoseSteps::Runs() const {
  std::vector<Levels> runs;
  std::vector<double> differences;
  for (int view = 0; view < static_cast<int>(pieces_.size()); ++view) {
    const std::vector<float>& now = pieces_[view];
    if (now.empty()) continue;
    bool goes_on = view > 0 && !pieces_[view - 1].empty();
    if (goes_on) {
      const Vec3 a = SourceOf(acquisition_.trajectory[view - 1]),
                 b = SourceOf(acquisition_.trajectory[view]);
      goes_on = RadiansToDegrees(std::atan2(Norm(Cross(a, b)), Dot(a, b))) <= kMostGapDeg;
    }
    if (!goes_on) {
      runs.push_back({view, {0}});
      continue;
    }
    differences.clear();
    for (size_t i = 0; i < now.size(); ++i) differences.push_back(now[i] - pieces_[view - 1][i]);
    runs.back().of_view.push_back(runs.back().of_view.back() + MedianOf(differences));
  }
  return runs;
}

std::optional<std::string> DoseSteps::Text() const {
  std::vector<Step> steps;
  for (const Levels& run : Runs()) {
    const int views = static_cast<int>(run.of_view.size());
    for (int at = kFrames; at + kFrames <= views; ++at) {
      const Step step{run.first + at, StepAt(run.of_view, at)};
      if (step.line == 0) continue;
      // Of those that are near each other the largest.
      if (steps.empty() || step.view - steps.back().view > kFrames) {
        steps.push_back(step);
      } else if (std::abs(step.line) > std::abs(steps.back().line)) {
        steps.back() = step;
      }
    }
  }
  if (steps.empty()) return std::nullopt;
  const Step& largest =
      *std::ranges::max_element(steps, {}, [](const Step& step) { return std::abs(step.line); });
  const bool is_line = acquisition_.pixel_type == PixelType::kFloat32LineIntegrals;
  return absl::StrFormat(
      "all line integrals %s by %.3f at once at frame %d%s, as where the dose is %.1f %% %s, and "
      "nothing takes that off; legal is within %g, and any dose of %s",
      largest.line > 0 ? "rise" : "fall", std::abs(largest.line), largest.view,
      steps.size() == 1 ? "" : absl::StrFormat(" (the largest of %d such steps)", steps.size()),
      100 * std::abs(std::expm1(-largest.line)), largest.line > 0 ? "lower" : "higher", kMostStep,
      is_line ? "frames that were divided by it before the logarithm"
              : "frames that tell it (Frame.dose), or with a calibration that reads it from air");
}

}  // namespace isocenter::recon
