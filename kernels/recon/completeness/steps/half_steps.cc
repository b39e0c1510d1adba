#include "kernels/recon/completeness/steps/half_steps.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/base/median.h"

namespace isocenter::recon {
namespace {

// Of the pieces of either half that step, or stay, with the others.
constexpr double kTogether = 0.6;

/// How many jumps are within half a step of where they should be.
double ShareNear(const std::vector<double>& jumps, double where, double step) {
  const auto near = std::ranges::count_if(
      jumps, [&](double jump) { return std::abs(jump - where) < 0.5 * std::abs(step); });
  return static_cast<double>(near) / static_cast<double>(jumps.size());
}

struct Halves {
  const char* names;
  PieceLevels::Part first, second;
};

/// By how much the second half jumps more than the first, in the middle of the pieces of either.
double JumpAt(const PieceLevels& levels, int view, const Halves& halves) {
  std::vector<double> first = levels.Jumps(view, halves.first);
  std::vector<double> second = levels.Jumps(view, halves.second);
  return MedianOf(second) - MedianOf(first);
}

}  // namespace

HalfSteps::HalfSteps(const Acquisition& acquisition) : levels_(acquisition) {}

void HalfSteps::Add(int view, std::span<const FrameRow> rows) {
  rows_ = static_cast<int>(rows.size());
  levels_.Add(view, rows, 0);
}

std::optional<std::string> HalfSteps::Text() const {
  const int middle = PieceLevels::kPieces / 2, middle_row = rows_ / 2;
  const Halves both[] = {
      {"left and right", [=](int piece, int) { return piece < middle; },
       [=](int piece, int) { return piece >= middle; }},
      {"upper and lower", [=](int, int row) { return row < middle_row; },
       [=](int, int row) { return row >= middle_row; }},
  };
  for (const Halves& halves : both) {
    std::vector<PieceLevels::Run> runs = levels_.Runs(halves.second);
    const std::vector<PieceLevels::Run> first = levels_.Runs(halves.first);
    for (size_t run = 0; run < runs.size(); ++run) {
      for (size_t i = 0; i < runs[run].of_view.size(); ++i) {
        runs[run].of_view[i] -= first[run].of_view[i];
      }
    }
    const auto is_one = [&](const LevelStep& step) {
      std::vector<double> stays = levels_.Jumps(step.view, halves.first);
      const std::vector<double> jumps = levels_.Jumps(step.view, halves.second);
      if (stays.empty() || jumps.empty()) return false;
      const double all = MedianOf(stays);
      return ShareNear(stays, all, step.line) > kTogether &&
             ShareNear(jumps, all + step.line, step.line) > kTogether;
    };
    const std::vector<LevelStep> steps = StepsOf(runs, kMostStep, is_one);
    if (steps.empty()) continue;
    const int view = LargestOf(steps).view;
    return absl::StrFormat(
        "the %s halves of the frames differ by %.1f %% more from frame %d on than before it%s, in "
        "air and object alike; legal is below %g %%: the gain of half of the detector changes in "
        "mid-scan (an amplifier, a cable, a table of gains that was loaded anew), and HU are off "
        "by tens to hundreds",
        halves.names, 100 * std::abs(std::expm1(-JumpAt(levels_, view, halves))), view,
        steps.size() == 1 ? "" : absl::StrFormat(" (the largest of %d such steps)", steps.size()),
        100 * kMostStep);
  }
  return std::nullopt;
}

}  // namespace isocenter::recon
