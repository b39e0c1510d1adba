#include "kernels/geometry/phases/phase_window.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter {
namespace {

// Chosen views without a gap between them: [begin, end) of ChosenViews, and where they lie.
struct Run {
  size_t begin = 0, end = 0;
  double mass = 0;             // weights times steps
  double centre = 0;           // of the mass, radians from the beginning of the arc
  double first = 0, last = 0;  // the arc that its views have for themselves
};

std::vector<Run> RunsOf(std::span<const double> step, const ChosenViews& chosen) {
  std::vector<double> begin_of(step.size() + 1, 0);
  std::partial_sum(step.begin(), step.end(), begin_of.begin() + 1);
  std::vector<Run> runs;
  for (size_t i = 0; i < chosen.views.size(); ++i) {
    const int view = chosen.views[i];
    if (i == 0 || view != chosen.views[i - 1] + 1) {
      runs.push_back({.begin = i, .first = begin_of[view]});
    }
    Run& run = runs.back();
    const double mass = chosen.weight[i] * step[view];
    run.end = i + 1;
    run.mass += mass;
    run.centre += mass * (begin_of[view] + 0.5 * step[view]);
    run.last = begin_of[view + 1];
  }
  for (Run& run : runs) run.centre /= run.mass;
  return runs;
}

}  // namespace

absl::Status CheckPhase(absl::string_view what, double phase) {
  if (phase >= 0 && phase < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", phase, "; legal is 0 to less than 1"));
}

absl::Status CheckPhaseWindow(const PhaseWindow& window) {
  ISO_RETURN_IF_ERROR(CheckPhase("the centre of the phases' window", window.centre));
  if (window.width > 0 && window.width <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the width of the phases' window is ", window.width, "; legal is more than 0, at most 1"));
}

double PhaseWeight(double phase, const PhaseWindow& window) {
  const double apart = std::abs(phase - window.centre);
  const double distance = std::min(apart, 1 - apart);
  const double half = 0.5 * window.width;
  const double edge = std::min(0.5 * half, 0.5 - half);  // to either side of `half`
  if (distance <= half - edge) return 1;
  if (distance >= half + edge) return 0;
  const double sine = std::sin(0.25 * kPi * (half + edge - distance) / edge);
  return sine * sine;
}

absl::StatusOr<ChosenViews> ChooseViews(std::span<const float> phases, const PhaseWindow& window) {
  ISO_RETURN_IF_ERROR(CheckPhaseWindow(window));
  ChosenViews chosen;
  int held = 0;
  for (size_t view = 0; view < phases.size(); ++view) {
    ISO_RETURN_IF_ERROR(CheckPhase(absl::StrCat("the phase of frame ", view), phases[view]));
    const double weight = PhaseWeight(phases[view], window);
    if (!(weight > 0)) continue;
    held += weight >= 0.5;
    chosen.views.push_back(static_cast<int>(view));
    chosen.weight.push_back(weight);
  }
  if (held < kFewestGatedViews) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the window of width ", window.width, " around phase ", window.centre, " holds ", held,
        " of ", phases.size(), " frames; legal is ", kFewestGatedViews, " or more"));
  }
  return chosen;
}

std::vector<double> GatedSteps(std::span<const double> step, const ChosenViews& chosen,
                               bool closed) {
  const std::vector<Run> runs = RunsOf(step, chosen);
  const double arc = std::accumulate(step.begin(), step.end(), 0.0);
  std::vector<double> steps;
  for (size_t r = 0; r < runs.size(); ++r) {
    const Run& run = runs[r];
    const bool first = r == 0, last = r + 1 == runs.size();
    const double before = first ? runs.back().centre - arc : runs[r - 1].centre;
    const double after = last ? runs.front().centre + arc : runs[r + 1].centre;
    const double begin = first && !closed ? 0 : 0.5 * (before + run.centre);
    const double end = last && !closed ? arc : 0.5 * (run.centre + after);
    for (size_t i = run.begin; i < run.end; ++i) {
      steps.push_back((end - begin) * chosen.weight[i] * step[chosen.views[i]] / run.mass);
    }
  }
  return steps;
}

double LargestGap(std::span<const double> step, const ChosenViews& chosen, bool closed) {
  const std::vector<Run> runs = RunsOf(step, chosen);
  const double arc = std::accumulate(step.begin(), step.end(), 0.0);
  double gap = 0;
  for (size_t r = 0; r + 1 < runs.size(); ++r) {
    gap = std::max(gap, runs[r + 1].first - runs[r].last);
  }
  const double at_ends = arc - runs.back().last + runs.front().first;
  if (closed) return std::max(gap, runs.size() > 1 ? at_ends : 0);
  return std::max({gap, runs.front().first, arc - runs.back().last});
}

}  // namespace isocenter
