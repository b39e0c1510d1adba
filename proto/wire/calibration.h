// What was measured of one detector and its beam, as a message and as the corrections take it.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "isocenter/v1/calibration.pb.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/ops/calibration.h"

namespace isocenter::wire {

/// Of a detector's pixels, the share that may be defective: beyond it there is no detector to be
/// corrected, and a list would take more memory than a map.
inline constexpr double kMostDefectiveShare = 0.1;
inline constexpr int64_t kMostPictureBytes = 4 << 20;
inline constexpr int kMostQualityFigures = 64;

/// All of a set but what its corrections compute with: names, times, detector, tube voltage,
/// quality, picture; and that its maps have as many bytes as the detector has pixels. Takes next to
/// no memory. Errors: INVALID_ARGUMENT with the field, its value and what is legal.
absl::Status CheckCalibrationLabel(const v1::CalibrationSet& set);

/// What corrects, legal in all (CheckCalibrationLabel, ops::CheckCalibration). A set that is moved
/// in gives its maps up one by one, so that they are not twice in memory. Errors: as
/// CheckCalibrationLabel.
absl::StatusOr<ops::Calibration> CalibrationFromProto(v1::CalibrationSet set);

/// The name, the detector and the corrections. Who made the set fills in the rest.
v1::CalibrationSet ToProto(const ops::Calibration& calibration);

/// The matrices of a set that has any, normalised. Errors: INVALID_ARGUMENT (none, or values).
absl::StatusOr<Trajectory> GeometryFromProto(const v1::CalibrationSet& set);

/// Replaces the matrices of a set.
void SetGeometry(const Trajectory& trajectory, v1::CalibrationSet& set);

/// A set without its maps, its matrices and its picture, for lists.
v1::CalibrationSet CalibrationLabel(const v1::CalibrationSet& set);

absl::Time TimeFromProto(const google::protobuf::Timestamp& time);
void SetTime(absl::Time time, google::protobuf::Timestamp& proto);

}  // namespace isocenter::wire
