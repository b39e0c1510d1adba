#include "kernels/recon/iterative/residual_finding.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace isocenter::recon {
namespace {

constexpr double kMostRise = 1.1;         // at the end
constexpr double kMostRiseBetween = 1.5;  // many subsets rise by 1.14, and come back
constexpr double kHigh = 0.5;

/// What of an algorithm's settings may take its volume away from the frames.
std::string CauseOf(const IterativeSettings& settings) {
  if (settings.prior_strength > 0) {
    return absl::StrFormat("Is iterative.prior_strength (%g) too much for them?",
                           settings.prior_strength);
  }
  switch (settings.algorithm) {
    case Algorithm::kSirt:
    case Algorithm::kSart:
      return "Is the step (iterative.relaxation, iterative.momentum) too long for them?";
    case Algorithm::kOsSart:
      return "Is the step (iterative.relaxation, iterative.momentum, iterative.subsets) too much "
             "for them?";
    case Algorithm::kAsdPocs:
      return "Is the step (iterative.relaxation, iterative.subsets) too much for them?";
    case Algorithm::kOsSqs:
      return "Are iterative.subsets too many for them? A prior (iterative.prior_strength) of 0.02 "
             "and more holds them back";
    case Algorithm::kCgls:
    case Algorithm::kLsqr:
    case Algorithm::kFistaTv:
      break;
  }
  return "Fewer iterative.iterations end before that";
}

/// Of the pass whose residual is the most times the least before.
std::optional<std::string> Rising(std::span<const IterationReport> reports,
                                  const IterativeSettings& settings) {
  const IterationReport* least = &reports.front();
  const IterationReport* from = nullptr;
  const IterationReport* to = nullptr;
  double most_rise = 0;
  for (const IterationReport& report : reports) {
    if (report.relative_residual < least->relative_residual) least = &report;
    const double rise = report.relative_residual / least->relative_residual;
    if (!(rise > (&report == &reports.back() ? kMostRise : kMostRiseBetween))) continue;
    if (!(rise > most_rise)) continue;
    most_rise = rise;
    from = least;
    to = &report;
  }
  if (to == nullptr) return std::nullopt;
  const std::string end = to == &reports.back() ? ""
                                                : absl::StrFormat(", and is %.3e at the end",
                                                                  reports.back().relative_residual);
  return absl::StrFormat(
      "the residual rises from %.3e in iteration %d to %.3e in iteration %d%s: the volume goes "
      "away from the frames. %s",
      from->relative_residual, from->iteration, to->relative_residual, to->iteration, end,
      CauseOf(settings));
}

std::optional<std::string> High(const IterationReport& last) {
  if (last.relative_residual <= kHigh) return std::nullopt;
  return absl::StrFormat(
      "the residual is %.3e after iteration %d; expected is at most %g: the volume explains less "
      "than half of the frames, and is wrong. Does the grid hold the object, and are matrices and "
      "intensity those of the scan? From nothing, more iterations may do",
      last.relative_residual, last.iteration, kHigh);
}

/// Of a pass that was not taken; `after`: those that were, after it.
std::string Refused(const IterationReport& refused, std::span<const IterationReport> after) {
  const std::string before = refused.iteration == 1
                                 ? "the volume that it began with"
                                 : absl::StrCat("the volume of iteration ", refused.iteration - 1);
  const std::string next =
      after.empty() ? "no iteration came after it, and more of them (iterative.iterations) do what "
                      "it should have done"
                    : absl::StrFormat(
                          "the next began anew from there with shorter steps, and the "
                          "residual is %.3e at the end",
                          after.back().relative_residual);
  return absl::StrFormat(
      "iteration %d was refused, as the volume went away from the frames (residual %.3e): %s "
      "stands, %s. Fewer iterative.subsets, or a prior (iterative.prior_strength) of 0.02 and "
      "more, spare that",
      refused.iteration, refused.relative_residual, before, next);
}

}  // namespace

std::optional<std::string> ResidualFinding(std::span<const IterationReport> reports,
                                           const IterativeSettings& settings) {
  std::vector<IterationReport> taken;
  std::ranges::copy_if(reports, std::back_inserter(taken), &IterationReport::taken);
  if (taken.size() >= 2) {
    if (auto rising = Rising(taken, settings)) return rising;
    if (auto high = High(taken.back())) return high;
  }
  const auto refused = std::ranges::find(reports, false, &IterationReport::taken);
  if (refused == reports.end()) return std::nullopt;
  const auto after = std::span(taken).subspan(refused - reports.begin());
  return Refused(*refused, after);
}

}  // namespace isocenter::recon
