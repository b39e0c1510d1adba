// Which calibration an acquisition is corrected with.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/jobs/calibrations.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::pipeline {

struct CalibrationChoice {
  std::optional<jobs::UsedCalibration> used;  // unset: nothing is corrected
  std::optional<jobs::JobWarning> warning;
};

/// That which the request names, else the newest valid one; as the request's policy says. It fits
/// an acquisition of counts of its station, mode and detector, whose tube voltage differs by 1 kV
/// at most; and is valid from its first moment until before its last. Where it must be verified,
/// another that is is not taken in its place: the newest was measured for a reason. Pure. Errors:
/// INVALID_ARGUMENT (one is named where none is used), FAILED_PRECONDITION (one is required, and
/// none fits, is valid or verified; what is wrong with the one that comes nearest).
absl::StatusOr<CalibrationChoice> ChooseCalibration(const std::vector<jobs::CalibrationLabel>& kept,
                                                    const AcquisitionRequest& request,
                                                    absl::Time now);

/// Whether a refinement that the request asks for has its bone table or scatter model: null where
/// frames are not corrected. A warning where not, as the first volume does not depend on it.
/// Errors: FAILED_PRECONDITION where the protocol requires a calibration.
absl::StatusOr<std::optional<jobs::JobWarning>> CheckRefinable(const AcquisitionRequest& request,
                                                               const ops::Calibration* calibration);

/// A warning of a set that does not know water. It may be the newest of its station and stand
/// before one that does.
std::optional<jobs::JobWarning> CheckWater(const ops::Calibration& calibration);

/// A warning of a set whose HU table was measured in a volume that was corrected otherwise than the
/// refinement's will be: whose scatter was in it, or that has other parts now. Only where scatter
/// is computed; else the volume is corrected as the acquisition's was, which has been told.
std::optional<jobs::JobWarning> CheckTable(const RefinementRequest& request,
                                           const ops::Calibration& calibration);

/// The same of the acquisition's first volume, or else of the refinement that it asks for.
std::optional<jobs::JobWarning> CheckTable(const AcquisitionRequest& request,
                                           const ops::Calibration& calibration);

}  // namespace isocenter::pipeline
