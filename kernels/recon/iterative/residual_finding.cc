#include "kernels/recon/iterative/residual_finding.h"

#include "absl/strings/str_format.h"

namespace isocenter::recon {
namespace {

constexpr double kMostRise = 1.1;         // at the end
constexpr double kMostRiseBetween = 1.5;  // many subsets rise by 1.14, and come back
constexpr double kHigh = 0.5;

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
  const std::string cause =
      settings.prior_strength > 0
          ? absl::StrFormat("iterative.prior_strength (%g)", settings.prior_strength)
          : "the step (iterative.relaxation, iterative.momentum, iterative.subsets)";
  const std::string end = to == &reports.back() ? ""
                                                : absl::StrFormat(", and is %.3e at the end",
                                                                  reports.back().relative_residual);
  return absl::StrFormat(
      "the residual rises from %.3e in iteration %d to %.3e in iteration %d%s: the volume goes "
      "away "
      "from the frames. Is %s too much for them?",
      from->relative_residual, from->iteration, to->relative_residual, to->iteration, end, cause);
}

}  // namespace

std::optional<std::string> ResidualFinding(std::span<const IterationReport> reports,
                                           const IterativeSettings& settings) {
  if (reports.size() < 2) return std::nullopt;
  if (auto rising = Rising(reports, settings)) return rising;
  const IterationReport& last = reports.back();
  if (last.relative_residual <= kHigh) return std::nullopt;
  return absl::StrFormat(
      "the residual is %.3e after iteration %d; expected is at most %g: the volume explains less "
      "than half of the frames, and is wrong. Does the grid hold the object, and are matrices and "
      "intensity those of the scan? From nothing, more iterations may do",
      last.relative_residual, last.iteration, kHigh);
}

}  // namespace isocenter::recon
