// Acquisitions whose matrices were measured with a phantom, and are kept.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "isocenter/v1/acquisition.pb.h"
#include "server/calibrations/store.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::rpc {

/// How much the arc of a planned circle may differ from that of the set it names (degrees).
inline constexpr double kMostArcDifferenceDeg = 3;

/// The header names a set with matrices, or has no trajectory.
bool LeavesGeometry(const v1::AcquisitionHeader& header);

struct KnownGeometry {
  v1::AcquisitionHeader header;  // with the set's matrices
  jobs::UsedCalibration used;
};

/// With a circle that is legal in place of what the header leaves to the service, so that the rest
/// of it can be looked at.
v1::AcquisitionHeader WithSomeGeometry(v1::AcquisitionHeader header);

/// Puts a set's matrices into a header that leaves them to the service: of the set that it names,
/// else of the newest valid one of its station, detector mode, detector and number of frames.
/// `store` may be null. Errors: INVALID_ARGUMENT (a set is named, and matrices are listed),
/// FAILED_PRECONDITION (none fits or is valid now, with what is wrong with the one that comes
/// nearest; a planned circle of another arc), those of Store::LoadGeometry.
absl::StatusOr<KnownGeometry> FindGeometry(v1::AcquisitionHeader header, calibrations::Store* store,
                                           absl::Time now);

struct AcquisitionContext;

/// TranslateHeader, with the matrices of a set where the header leaves them to the service. Errors:
/// as TranslateHeader and FindGeometry.
absl::StatusOr<pipeline::AcquisitionRequest> TranslateNew(const v1::AcquisitionHeader& header,
                                                          const AcquisitionContext& shared);

}  // namespace isocenter::rpc
