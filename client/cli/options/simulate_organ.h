// How an organ in the object of `isocenter simulate` moves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/phases/phase_curve.h"
#include "kernels/phantom/thorax.h"

namespace isocenter::cli {

struct OrganChoice {
  std::string kind;  // "heart" or "breathing"; empty: all lies still
  PhaseCurve curve{.cycles = 12, .irregular = 0.05};
  std::optional<double> truth_phase;  // none: the truth is the organ at rest

  bool moves() const { return !kind.empty(); }
  phantom::Organ organ() const {
    return kind == "breathing" ? phantom::Organ::kDiaphragm : phantom::Organ::kHeart;
  }
};

/// One for each frame; none where nothing moves. Errors: those of PhasesOfFrames; INVALID_ARGUMENT
/// (a --truth-phase where nothing moves).
absl::StatusOr<std::vector<float>> OrganPhases(const OrganChoice& choice, int frames);

}  // namespace isocenter::cli
