#include "kernels/recon/iterative/rising_residual.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace isocenter::recon {

std::optional<std::string> RisingResidual(std::span<const IterationReport> reports,
                                          const IterativeSettings& settings) {
  constexpr double kMostRise = 1.1;
  if (reports.empty()) return std::nullopt;
  const IterationReport& least =
      *std::ranges::min_element(reports, {}, &IterationReport::relative_residual);
  const IterationReport& last = reports.back();
  if (!(last.relative_residual > kMostRise * least.relative_residual)) return std::nullopt;
  const std::string cause =
      settings.prior_strength > 0
          ? absl::StrFormat("iterative.prior_strength (%g)", settings.prior_strength)
          : "the step (iterative.relaxation, iterative.momentum, iterative.subsets)";
  return absl::StrFormat(
      "the residual rises from %.3e in iteration %d to %.3e in iteration %d: the volume goes away "
      "from the frames. Is %s too much for them?",
      least.relative_residual, least.iteration, last.relative_residual, last.iteration, cause);
}

}  // namespace isocenter::recon
