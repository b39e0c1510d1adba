#include "client/formats/dicom/xa_geometry.h"

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/formats/dicom/positioner.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::formats {
namespace {

constexpr double kLeastSpreadDeg = 1;  // below it the arm stood still, but for read-out noise

absl::Status Missing(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      what, " is missing; without it measured matrices are needed: --projections FILE.csv"));
}

/// Angle of every frame in degrees. One increment is the mean step; as many as there are frames are
/// offsets from the initial angle (PS3.3 C.8.7.5.1.3).
absl::StatusOr<std::vector<double>> Angles(const XaAttributes& run, const DcmTagKey& angle,
                                           const DcmTagKey& increment, const char* name) {
  std::vector<double> angles;
  if (run.enhanced()) {
    for (int i = 0; i < run.frames(); ++i) {
      const auto value = run.Number(i, DCM_PositionerPositionSequence, angle);
      if (!value) return Missing(absl::StrCat(name, " of frame ", i));
      angles.push_back(*value);
    }
    return angles;
  }
  const auto initial = DicomNumber(run.data(), angle);
  if (!initial) return Missing(name);
  const std::vector<double> steps = DicomNumbers(run.data(), increment);
  if (steps.size() > 1 && static_cast<int>(steps.size()) != run.frames()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " Increment has ", steps.size(),
                                                   " values; legal is 1 or one per frame (",
                                                   run.frames(), ")"));
  }
  for (int i = 0; i < run.frames(); ++i) {
    const double offset = steps.empty() ? 0 : steps.size() == 1 ? i * steps[0] : steps[i];
    angles.push_back(*initial + offset);
  }
  return angles;
}

absl::StatusOr<std::vector<PositionerAngles>> PositionerAnglesOf(const XaAttributes& run) {
  ISO_ASSIGN_OR_RETURN(const auto primary,
                       Angles(run, DCM_PositionerPrimaryAngle, DCM_PositionerPrimaryAngleIncrement,
                              "Positioner Primary Angle"));
  ISO_ASSIGN_OR_RETURN(const auto secondary,
                       Angles(run, DCM_PositionerSecondaryAngle,
                              DCM_PositionerSecondaryAngleIncrement, "Positioner Secondary Angle"));
  std::vector<PositionerAngles> angles;
  for (size_t i = 0; i < primary.size(); ++i) {
    angles.push_back({DegreesToRadians(primary[i]), DegreesToRadians(secondary[i])});
  }
  const double spread_deg = RadiansToDegrees(Spread(angles));
  if (spread_deg < kLeastSpreadDeg) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "this is not a rotational run: the positioner angles of its %d frames stay within %.2f "
        "degrees (primary %.4g, secondary %.4g); a volume needs an arc of about 180 degrees",
        run.frames(), spread_deg, primary[0], secondary[0]));
  }
  return angles;
}

/// Sets both distances, which must not change during the run.
absl::Status ReadDistances(const XaAttributes& run, PositionerGeometry& geometry) {
  const DcmTagKey to_isocenter =
      run.enhanced() ? DCM_DistanceSourceToIsocenter : DCM_DistanceSourceToPatient;
  const auto sdd = run.Number(0, DCM_XRayGeometrySequence, DCM_DistanceSourceToDetector);
  if (!sdd) return Missing("Distance Source to Detector (0018,1110)");
  auto sid = run.Number(0, DCM_XRayGeometrySequence, to_isocenter);
  if (!sid) {
    const auto magnification =
        run.Number(0, DCM_XRayGeometrySequence, DCM_EstimatedRadiographicMagnificationFactor);
    if (magnification && *magnification > 1) sid = *sdd / *magnification;
  }
  if (!sid) {
    return Missing(run.enhanced() ? "Distance Source to Isocenter (0018,9402)"
                                  : "Distance Source to Patient (0018,1111; to the isocentre)");
  }
  for (int i = 1; i < run.frames() && run.enhanced(); ++i) {
    const auto later = run.Number(i, DCM_XRayGeometrySequence, DCM_DistanceSourceToDetector);
    if (later && std::abs(*later - *sdd) > 1) {
      return absl::InvalidArgumentError(absl::StrCat("Distance Source to Detector changes from ",
                                                     *sdd, " to ", *later, " mm at frame ", i,
                                                     "; an ideal orbit has one"));
    }
  }
  geometry.source_to_detector_mm = *sdd;
  geometry.source_to_isocenter_mm = *sid;
  return absl::OkStatus();
}

/// Whether the images are stored as the detector saw them.
bool AsDetected(const XaAttributes& run) {
  const double field = run.Number(0, DCM_FieldOfViewSequence, DCM_FieldOfViewRotation).value_or(0);
  const std::string flip = run.Text(0, DCM_FieldOfViewSequence, DCM_FieldOfViewHorizontalFlip);
  const double turned = run.Number(0, DCM_IsocenterReferenceSystemSequence,
                                   DCM_PositionerIsocenterDetectorRotationAngle)
                            .value_or(0);
  return field == 0 && flip != "YES" && std::abs(turned) < 0.5;
}

absl::Status ReadOrientation(const XaAttributes& run, PositionerAngles first,
                             PositionerGeometry& geometry, std::vector<std::string>& notes) {
  const DcmTagKey macro = DCM_PatientOrientationInFrameSequence;
  const std::string row = run.Text(0, macro, DCM_PatientOrientation, 0);
  const std::string column = run.Text(0, macro, DCM_PatientOrientation, 1);
  const std::string position = DicomText(run.data(), DCM_PatientPosition);
  if (!row.empty() && !column.empty()) {
    ISO_ASSIGN_OR_RETURN(geometry.axes, AxesOfPatientOrientation(row, column, first));
  } else if (!AsDetected(run) || (!position.empty() && position != "HFS")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Patient Orientation (0020,0020) is missing, and with Patient Position '", position,
        "', a rotated detector or a flipped field of view nothing else says how the images lie; "
        "legal without it is HFS, unrotated, not flipped"));
  } else {
    notes.push_back(
        "the images are taken to be upright and seen from the detector: rows to the patient's "
        "left, columns to the feet");
  }
  return absl::OkStatus();
}

/// Where the isocentre is imaged: from Position of Isocenter Projection (PS3.3 C.8.19.5; detector
/// elements, column direction first), or the middle.
void ReadIsocenter(const XaAttributes& run, const Detector& detector, PositionerGeometry& geometry,
                   std::vector<std::string>& notes) {
  geometry.isocenter_u_px = 0.5 * (detector.columns - 1);
  geometry.isocenter_v_px = 0.5 * (detector.rows - 1);
  const auto position = DicomNumbers(run.data(), DCM_PositionOfIsocenterProjection);
  const auto element = DicomNumbers(run.data(), DCM_DetectorElementSpacing);
  DcmItem* const field = run.Group(0, DCM_FieldOfViewSequence);
  const auto origin = field ? DicomNumbers(*field, DCM_FieldOfViewOrigin) : std::vector<double>();
  if (position.size() != 2 || origin.size() != 2 || element.size() != 2 || !(element[0] > 0) ||
      !(element[1] > 0) || !AsDetected(run) || geometry.axes != kUprightAxes) {
    notes.push_back("the isocentre is taken to be imaged in the middle of the frames");
    return;
  }
  // From element centres to the centres of pixels of several elements.
  const auto pixel = [&](int i, double pitch) {
    const double elements = pitch / element[i];
    return (position[i] - origin[i] + 0.5) / elements - 0.5;
  };
  geometry.isocenter_v_px = pixel(0, detector.pitch_v_mm);
  geometry.isocenter_u_px = pixel(1, detector.pitch_u_mm);
}

}  // namespace

absl::StatusOr<Detector> XaDetector(const XaAttributes& run) {
  DcmItem* const group = run.Group(0, DCM_FramePixelDataPropertiesSequence);
  const auto spacing = group ? DicomNumbers(*group, DCM_ImagerPixelSpacing) : std::vector<double>();
  const auto rows = DicomNumber(run.data(), DCM_Rows),
             columns = DicomNumber(run.data(), DCM_Columns);
  if (!rows || !columns) return absl::InvalidArgumentError("Rows or Columns are missing");
  if (spacing.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Imager Pixel Spacing (0018,1164) has ", spacing.size(),
        " values; needed are 2: distance of rows and of columns in mm at the detector"));
  }
  const Detector detector{.columns = static_cast<int>(*columns),
                          .rows = static_cast<int>(*rows),
                          .pitch_u_mm = spacing[1],
                          .pitch_v_mm = spacing[0]};
  for (const double pitch : spacing) {
    if (pitch > 0 && pitch <= 10) continue;
    return absl::InvalidArgumentError(absl::StrCat("Imager Pixel Spacing (0018,1164) is ", pitch,
                                                   " mm; legal is more than 0, at most 10"));
  }
  return detector;
}

absl::StatusOr<PatientPosition> XaPatientPosition(const XaAttributes& run) {
  const std::string position = DicomText(run.data(), DCM_PatientPosition);
  return position.empty() ? PatientPosition::kHfs : ParsePatientPosition(position);
}

absl::StatusOr<Trajectory> XaTrajectory(const XaAttributes& run, const Detector& detector,
                                        std::vector<std::string>& notes) {
  if (DicomText(run.data(), DCM_TableMotion) == "DYNAMIC") {
    return absl::InvalidArgumentError(
        "Table Motion is DYNAMIC; legal is STATIC: the patient must not move in a rotational run");
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<PositionerAngles> angles, PositionerAnglesOf(run));
  PositionerGeometry geometry;
  ISO_RETURN_IF_ERROR(ReadDistances(run, geometry));
  const PositionerAngles first = angles.front(), last = angles.back();
  notes.push_back(absl::StrFormat(
      "an ideal orbit is assumed: primary angle %.4g to %.4g degrees, secondary %.4g to %.4g, "
      "source to isocentre %.5g mm, to detector %.5g mm; measured matrices (--projections "
      "FILE.csv) would correct the arm's deviations",
      RadiansToDegrees(first.primary), RadiansToDegrees(last.primary),
      RadiansToDegrees(first.secondary), RadiansToDegrees(last.secondary),
      geometry.source_to_isocenter_mm, geometry.source_to_detector_mm));
  ISO_RETURN_IF_ERROR(ReadOrientation(run, first, geometry, notes));
  ReadIsocenter(run, detector, geometry, notes);
  ISO_ASSIGN_OR_RETURN(Trajectory trajectory, PositionerTrajectory(angles, geometry, detector));
  ISO_ASSIGN_OR_RETURN(const PatientPosition position, XaPatientPosition(run));
  for (ProjectionMatrix& matrix : trajectory) matrix = MatrixForWorld(position, matrix);
  return trajectory;
}

}  // namespace isocenter::formats
