#include "client/cli/options/simulate_organ.h"

#include "client/flags/wrong_usage.h"

namespace isocenter::cli {

absl::StatusOr<std::vector<float>> OrganPhases(const OrganChoice& choice, int frames) {
  if (choice.moves()) return PhasesOfFrames(choice.curve, frames);
  if (choice.truth_phase) {
    return flags::WrongUsage("--truth-phase needs --organ-motion");
  }
  return std::vector<float>();
}

}  // namespace isocenter::cli
