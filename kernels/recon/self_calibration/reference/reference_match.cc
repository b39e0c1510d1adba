#include "kernels/recon/self_calibration/reference/reference_match.h"

#include "absl/strings/str_format.h"
#include "kernels/base/units.h"

namespace isocenter::recon {

absl::Status CheckReference(const ReferenceMatch& match) {
  if (match.covered < kLeastCovered) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the reference volume covers %.0f %% of what the frames show, where it fits best; legal is "
        "%.0f %% or more",
        100 * match.covered, 100 * kLeastCovered));
  }
  if (match.similarity_before < kLeastReferenceSimilarity) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the reference volume does not show what the frames show: where it fits best their edges "
        "correlate by %.3f; legal is %.2f or more (another patient, or another part of the body?)",
        match.similarity_before, kLeastReferenceSimilarity));
  }
  return absl::OkStatus();
}

std::string ToText(const ReferenceMatch& match) {
  return absl::StrFormat(
      "in the reference volume the patient lies %.1f mm and %.1f deg elsewhere (frames keep their "
      "own place); edges correlate by %.4f, before %.4f, in %.0f %% of what the frames show; its "
      "shifts were %s: the entropy is %.4f with them",
      Norm(match.patient.shift_mm), RadiansToDegrees(Norm(match.patient.turn_rad)),
      match.similarity_after, match.similarity_before, 100 * match.covered,
      match.taken ? "taken" : "not taken", match.entropy);
}

}  // namespace isocenter::recon
