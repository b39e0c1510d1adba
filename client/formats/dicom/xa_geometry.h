// The geometry that an X-ray angiographic run states.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/formats/dicom/xa_attributes.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/patient_position.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::formats {

/// Rows, Columns and Imager Pixel Spacing (0018,1164), which is measured at the detector. Errors:
/// INVALID_ARGUMENT naming what is missing or out of range.
absl::StatusOr<Detector> XaDetector(const XaAttributes& run);

/// Patient Position (0018,5100); HFS where it is missing. Errors: INVALID_ARGUMENT (another term).
absl::StatusOr<PatientPosition> XaPatientPosition(const XaAttributes& run);

/// An ideal orbit: positioner angles and their increments (PS3.3 C.8.7.5.1.2 and .3; in an enhanced
/// object one pair per frame), source to detector and to the isocentre, the image of the isocentre
/// and the orientation of the images where they are stated. The world is the table's, on which
/// the patient lies as XaPatientPosition says. Appends sentences to `notes` that say what was
/// assumed. Errors: INVALID_ARGUMENT naming the attribute and what is needed (no angles, angles
/// that do not change, no distance, table motion, images whose orientation is unknown).
absl::StatusOr<Trajectory> XaTrajectory(const XaAttributes& run, const Detector& detector,
                                        std::vector<std::string>& notes);

}  // namespace isocenter::formats
