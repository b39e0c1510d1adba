#include "kernels/recon/self_calibration/reference/reference_match.h"

#include "absl/strings/str_format.h"
#include "kernels/base/share_text.h"
#include "kernels/base/units.h"

namespace isocenter::recon {
namespace {

constexpr double kNowhereElse = 0.05;  // mm and degrees: 0.0 in the sentence

}  // namespace

absl::Status CheckReference(const ReferenceMatch& match) {
  if (match.covered < kLeastCovered) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the reference volume covers %s of what the frames show, where it fits best; legal is "
        "%.0f %% or more",
        ShareText(match.covered), 100 * kLeastCovered));
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
  const double shift_mm = Norm(match.patient.shift_mm);
  const double turn_deg = RadiansToDegrees(Norm(match.patient.turn_rad));
  const std::string place =
      shift_mm < kNowhereElse && turn_deg < kNowhereElse
          ? "the patient lies where the reference volume has it"
          : absl::StrFormat(
                "what the frames show lies %.1f mm and %.1f deg elsewhere than in the reference "
                "volume (the patient does, or, along the axis, the detector does in all frames: "
                "they do not tell which, and keep their own place)",
                shift_mm, turn_deg);
  return absl::StrFormat(
      "%s; edges correlate by %.4f, before %.4f, in %s of what the frames show; its "
      "shifts were %s: the entropy is %.4f with them",
      place, match.similarity_after, match.similarity_before, ShareText(match.covered),
      match.taken ? "taken" : "not taken", match.entropy);
}

}  // namespace isocenter::recon
