#include "client/cli/options/simulate_organ.h"

namespace isocenter::cli {

absl::StatusOr<std::vector<float>> OrganPhases(const OrganChoice& choice, int frames) {
  if (choice.moves()) return PhasesOfFrames(choice.curve, frames);
  if (choice.truth_phase) {
    return absl::InvalidArgumentError("--truth-phase needs --organ-motion");
  }
  return std::vector<float>();
}

}  // namespace isocenter::cli
