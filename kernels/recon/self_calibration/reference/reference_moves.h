// Where the detector was, by an earlier volume of what the scan shows.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/recon/self_calibration/reference/find_patient.h"

namespace isocenter::recon {

struct ReferenceMoves {
  PatientPlace patient;
  double covered = 0;  // share of the frames' line integrals that is compared
  /// Mean gradient correlation of all frames, with the matrices as they were and with the moves.
  double similarity_before = 0, similarity_after = 0;
  std::vector<DetectorMove> moves;  // constant ones included
};

/// Shifts along u and v that are cubic splines of `spans` spans, and one roll of all frames, that
/// make the volume's radiographs most like the frames, from `patient`, which is looked at again
/// beside them. The patient takes what both could explain (a shift that is the same in the world),
/// so that the corrected scan's volume stays where it is.
absl::StatusOr<ReferenceMoves> FindReferenceMoves(const ReferenceScan& scan,
                                                  const PatientPlace& patient, int spans,
                                                  const GoOn& go_on);

}  // namespace isocenter::recon
