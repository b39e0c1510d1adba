// What an earlier volume of the patient said of where the detector was.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/recon/self_calibration/reference/reference_volume.h"

namespace isocenter::recon {

/// A reference says nothing of frames of which it covers less than this share of the line
/// integrals, or with which its radiographs correlate less (mean gradient correlation of all
/// frames, where the patient was found; docs/self-calibration.md).
inline constexpr double kLeastCovered = 0.5, kLeastReferenceSimilarity = 0.85;
/// Its shifts are news where they differ from those of the frames alone by this root mean square,
/// in pixels that planes are asked of.
inline constexpr double kLeastReferenceShiftPx = 0.1;

struct ReferenceMatch {
  /// How the patient lies in the scan against the volume, with the shifts that were taken; the
  /// place of the detector along the axis, which no frame tells, is in it: how far the volume's
  /// middle is shifted, and how it is turned about that, along the axes of the scan's world.
  RigidPose patient;
  double covered = 0;  // share of the frames' line integrals that the volume knows whole
  /// Mean gradient correlation of the frames with its radiographs, with the moves that the frames
  /// alone told and with its own.
  double similarity_before = 0, similarity_after = 0;
  /// With its own moves: entropy and pairs' median difference (0: not judged), which it was not
  /// looked for by.
  double entropy = 0, planes = 0;
  /// Whether its moves were taken for those of the frames alone.
  bool taken = false;
};

/// Errors: FAILED_PRECONDITION with the figures of a reference that says nothing.
absl::Status CheckReference(const ReferenceMatch& match);

/// As half a sentence with figures.
std::string ToText(const ReferenceMatch& match);

}  // namespace isocenter::recon
