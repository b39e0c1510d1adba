#include "server/pipeline/frames/told_phases.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/phases/phase_window.h"

namespace isocenter::pipeline {
namespace {

std::string Told(std::optional<float> phase) {
  return phase ? absl::StrCat(*phase) : std::string("not told");
}

}  // namespace

ToldPhases::ToldPhases(std::span<const std::optional<float>> phases,
                       const std::vector<bool>& present) {
  for (size_t i = 0; i < phases.size() && !first_; ++i) {
    if (present[i]) first_ = {static_cast<int>(i), phases[i]};
  }
}

absl::Status ToldPhases::Check(int frame, std::optional<float> phase) const {
  if (phase) {
    ISO_RETURN_IF_ERROR(CheckPhase(absl::StrCat("frame.phase of frame ", frame), *phase));
  }
  if (!first_ || first_->phase.has_value() == phase.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "frame.phase of frame ", frame, " is ", Told(phase), ", that of frame ", first_->frame,
      " is ", Told(first_->phase),
      "; legal is a phase, 0 to less than 1, of all frames of an acquisition or of none"));
}

void ToldPhases::Take(int frame, std::optional<float> phase) {
  if (!first_) first_ = {frame, phase};
}

}  // namespace isocenter::pipeline
