// How the patient lies on the table, and what that makes of the world's axes.
#pragma once

#include <array>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/vec3.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter {

/// DICOM's Patient Position (PS3.3, C.7.3.1.1.2): head or feet first; supine (face up), prone (face
/// down), decubitus right or left (that side down).
enum class PatientPosition { kHfs, kHfp, kHfdr, kHfdl, kFfs, kFfp, kFfdr, kFfdl };
inline constexpr std::array kPatientPositions = {
    PatientPosition::kHfs, PatientPosition::kHfp, PatientPosition::kHfdr, PatientPosition::kHfdl,
    PatientPosition::kFfs, PatientPosition::kFfp, PatientPosition::kFfdr, PatientPosition::kFfdl};

/// DICOM's term: "HFS", ...
absl::string_view Name(PatientPosition position);
/// INVALID_ARGUMENT naming the terms, for any other.
absl::StatusOr<PatientPosition> ParsePatientPosition(absl::string_view term);

/// The world is fixed to the table: of a patient who lies HFS its x points to the left, y to the
/// back, which is down, z to the head. Both functions turn it about the isocentre into the axes of
/// the patient, LPS: x to the left, y to the back, z to the head. Every such turn is exact, as it
/// only swaps and negates coordinates.
Vec3 WorldToPatient(PatientPosition position, Vec3 world);
/// The inverse.
Vec3 PatientToWorld(PatientPosition position, Vec3 patient);

/// The matrix of a view that is known for points in the axes of the patient, for points in the
/// world.
ProjectionMatrix MatrixForWorld(PatientPosition position, const ProjectionMatrix& for_patient);

/// The same voxels in the same order, with origin and direction in the axes of the patient.
VolumeGrid PatientGrid(const VolumeGrid& grid, PatientPosition position);
/// The inverse.
VolumeGrid WorldGrid(const VolumeGrid& of_patient, PatientPosition position);

}  // namespace isocenter
