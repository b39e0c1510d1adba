// Where source and detector of an angiographic C-arm are, seen from the patient.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::formats {

/// Positioner Primary and Secondary Angle, DICOM PS3.3 C.8.7.5.1.2: the position of the image
/// receptor about the patient. Primary: in the transaxial plane, 0 in front of the chest, positive
/// to the patient's left (LAO). Secondary: from there in the sagittal plane, positive to the head
/// (CRA). Radians. As they are angles about the patient, they need no patient position.
struct PositionerAngles {
  double primary = 0;
  double secondary = 0;
};

/// How the rows and columns of a stored image lie. With the image seen as the standard shows it,
/// from the detector towards the source, upright at primary angle 0: rows run to the patient's left
/// and columns to the feet, which is {1, 0, 0, 1}. Row-major 2x2 of 0 and ±1: the first row says
/// what the stored row runs along (left at angle 0, feet), the second the stored column.
using ImageAxes = std::array<int, 4>;
inline constexpr ImageAxes kUprightAxes = {1, 0, 0, 1};

/// The axes that Patient Orientation (0020,0020; PS3.3 C.7.6.1.1.1) of a run with these angles
/// names, e.g. {"L", "F"}. Consoles write the letters either of the first frame or of the frontal
/// view; where these would differ in a sign the letters are refused. Errors: INVALID_ARGUMENT
/// naming the value (not two letters for two axes of the image, ambiguous).
absl::StatusOr<ImageAxes> AxesOfPatientOrientation(const std::string& row,
                                                   const std::string& column,
                                                   PositionerAngles first);

struct PositionerGeometry {
  double source_to_isocenter_mm = 0;
  double source_to_detector_mm = 0;
  ImageAxes axes = kUprightAxes;
  /// Image of the isocentre in pixels. Plain XA images assume the middle (PS3.17 FFF.2.1.5.2).
  double isocenter_u_px = 0;
  double isocenter_v_px = 0;
};

/// The matrix of each view in a world that is the patient's: x to the left, y to the back, z to the
/// head, origin at the isocentre; the detector is perpendicular to the central ray. Errors:
/// INVALID_ARGUMENT naming the DICOM attribute (distances as in CircularOrbit).
absl::StatusOr<Trajectory> PositionerTrajectory(const std::vector<PositionerAngles>& angles,
                                                const PositionerGeometry& geometry,
                                                const Detector& detector);

/// The angles of a view in such a world: what a console would write for it. Errors:
/// INVALID_ARGUMENT as Decompose.
absl::StatusOr<PositionerAngles> AnglesOf(const ProjectionMatrix& matrix);

/// Largest angle between two central rays of the run (radians, 0..π).
double Spread(const std::vector<PositionerAngles>& angles);

}  // namespace isocenter::formats
