// Frames of a moving organ by their phase: where of its cycle each was taken, and which count.
#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter {

/// A part of the cycle. Phases are cyclic: 0.98 is as near to 0.02 as 0.06 is.
struct PhaseWindow {
  double centre = 0;  // [0, 1)
  double width = 1;   // (0, 1], where the weight is one half and more
};

/// Fewer frames than these make no volume.
inline constexpr int kFewestGatedViews = 8;

/// Errors: INVALID_ARGUMENT with the value unless it is 0 to less than 1. `what` names it.
absl::Status CheckPhase(absl::string_view what, double phase);
/// Errors: INVALID_ARGUMENT with the field, its value and what is legal.
absl::Status CheckPhaseWindow(const PhaseWindow& window);

/// 1 in the middle, 0 outside, with edges of a squared sine around half the width, a quarter of the
/// width to either side; those of a window wider than two thirds are steeper, so that it ends half
/// a cycle from its centre. n windows of the width 1/n, as far apart, add up to 1 in all phases: no
/// frame counts more than another in all of them together. A width of 1 is all frames alike.
double PhaseWeight(double phase, const PhaseWindow& window);

/// Some views of a scan, and how much each counts.
struct ChosenViews {
  std::vector<int> views;      // ascending
  std::vector<double> weight;  // of each, (0, 1]
};

/// The views whose weight is not 0. Errors: INVALID_ARGUMENT (a phase, with its view; the window; a
/// window that holds fewer than kFewestGatedViews views of half the weight or more, with their
/// number and that of the scan's).
absl::StatusOr<ChosenViews> ChooseViews(std::span<const float> phases, const PhaseWindow& window);

/// Radians of an arc that each chosen view stands for. `step`: of all views of the scan (their sum
/// is the arc). A run of views without a gap, one heartbeat's, stands for the arc as far as the
/// middle to the run before and after it, between the views that count half in each, and shares it
/// as weights times steps are: runs lie a cycle apart, and no view of theirs may count more because
/// nothing was taken beside it. On a `closed` circle the last run is before the first. Sums up to
/// the arc.
std::vector<double> GatedSteps(std::span<const double> step, const ChosenViews& chosen,
                               bool closed);

/// The largest part of the arc that no chosen view was taken in, in radians: between two runs, or
/// at its ends.
double LargestGap(std::span<const double> step, const ChosenViews& chosen, bool closed);

}  // namespace isocenter
