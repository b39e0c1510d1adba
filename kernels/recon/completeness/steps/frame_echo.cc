#include "kernels/recon/completeness/steps/frame_echo.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/median.h"
#include "kernels/recon/completeness/row_lines.h"

namespace isocenter::recon {
namespace {

constexpr int kMostRuns = 32;
constexpr std::array kFourth{1, -4, 6, -4, 1};
constexpr double kAir = 0.1;  // line integrals within this
constexpr size_t kLeastDifferences = 5000, kMostDifferences = 20000;
// From two frames to three apart an average gains less than from one to two.
constexpr double kMostGain = 1;

}  // namespace

FrameEcho::FrameEcho(const Acquisition& acquisition)
    : acquisition_(acquisition),
      step_(std::max(static_cast<int>(kFrames),
                     static_cast<int>(acquisition.trajectory.size()) / kMostRuns)) {}

std::vector<FrameEcho::Window> FrameEcho::WindowsOf(std::span<const FrameRow> rows) const {
  std::vector<Window> windows;
  for (const FrameRow& row : rows) {
    const auto columns = static_cast<size_t>(acquisition_.detector.columns);
    for (size_t first = 0; first + kFourth.size() <= columns; first += kFourth.size()) {
      double bend = 0;
      for (size_t i = 0; i < kFourth.size(); ++i) {
        bend += kFourth[i] * PixelValue(acquisition_, row, static_cast<int>(first + i));
      }
      const RowSum sum = SumOf(acquisition_, row, static_cast<int>(first), kFourth.size());
      const bool whole = sum.used == static_cast<int>(kFourth.size()) && std::isfinite(bend);
      windows.push_back(
          {static_cast<float>(bend), whole && std::abs(LineOf(acquisition_, sum, 0)) < kAir});
    }
  }
  return windows;
}

void FrameEcho::Add(int view, std::span<const FrameRow> rows) {
  if (view != last_view_ + 1) run_.clear();
  last_view_ = view;
  if (run_.empty() && view % step_ != 0) return;
  if (differences_[0].size() >= kMostDifferences) return;
  run_.push_back(WindowsOf(rows));
  if (run_.size() < kFrames) return;
  const std::vector<Window>& first = run_[0];
  for (size_t i = 0; i < first.size(); ++i) {
    if (!std::ranges::all_of(run_, [i](const auto& frame) { return frame[i].air; })) continue;
    for (size_t apart = 1; apart < kFrames; ++apart) {
      differences_[apart - 1].push_back(std::abs(run_[apart][i].bend - first[i].bend));
    }
  }
  run_.clear();
}

std::optional<std::string> FrameEcho::Text() const {
  if (differences_[0].size() < kLeastDifferences) return std::nullopt;
  std::array<double, kFrames - 1> squares;
  for (size_t i = 0; i < squares.size(); ++i) {
    std::vector<float> differences = differences_[i];
    squares[i] = std::pow(MedianOf(differences), 2);
  }
  const auto [next, second, third] = squares;
  if (!(next > 0)) return std::nullopt;
  const double correlation = 1 - next / third;
  if (correlation < kMostCorrelation || second - next < kMostCorrelation * next ||
      third - second > kMostGain * (second - next)) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "the noise of neighbouring frames is the same by %.0f %% or more (in air they differ by "
      "less than frames that are three apart); legal is below %.0f %%, two exposures have nothing "
      "in common: what delivers the frames averages them against noise, and edges are smeared "
      "along the turn; legal are frames as the detector read them",
      100 * correlation, 100 * kMostCorrelation);
}

}  // namespace isocenter::recon
