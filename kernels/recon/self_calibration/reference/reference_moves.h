// Where the detector was, by an earlier volume of what the scan shows.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/recon/self_calibration/reference/find_patient.h"

namespace isocenter::recon {

struct ReferenceMoves {
  PatientPlace patient;
  double covered = 0;  // share of the frames' line integrals that is compared
  /// Mean gradient correlation of all frames, with the moves as they were and as they were found.
  double similarity_before = 0, similarity_after = 0;
  std::vector<DetectorMove> moves;  // constant ones included
};

/// Shifts along u and v, cubic splines of `spans` spans, that make the volume's radiographs most
/// like the frames, from `moves` and `patient`, who is placed again beside them. Rolls stay as they
/// are: a reference's cone-beam artefacts alone turn its radiographs by 0.05 degrees. The patient
/// takes what both could explain (a shift that is the same in the world), so that the corrected
/// scan's volume stays where it is.
absl::StatusOr<ReferenceMoves> FindReferenceMoves(const ReferenceScan& scan,
                                                  const PatientPlace& patient,
                                                  std::vector<DetectorMove> moves, int spans,
                                                  const GoOn& go_on);

/// As coarse as the finest comparison of `acquisition`'s frames needs a reference, in mm.
double ReferenceVoxelMm(const Acquisition& acquisition);

/// What looking for both takes beside the frames and the reference, at most.
struct ReferenceMemory {
  int64_t device_bytes = 0, host_bytes = 0;
};
ReferenceMemory ReferenceMemoryOf(const Acquisition& acquisition, const VolumeGrid& reference);

}  // namespace isocenter::recon
