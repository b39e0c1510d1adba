#include "proto/wire/plausible.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/civil_time.h"
#include "kernels/geometry/angle_between.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/geometry/orbit_axis.h"
#include "kernels/geometry/projection_matrix.h"
#include "proto/wire/field_checks.h"
#include "proto/wire/geometry.h"

namespace isocenter::wire {
namespace {

constexpr double kMostStepDeg = 60;
// Views that are lost with their matrices leave a step that its neighbours are not like.
constexpr double kMostSteps = 3.5;  // of the middle one
constexpr double kLeastGapDeg = 5;
// Arms swing about the patient's length, tilted by 30 degrees at most; a saddle of 40 degrees over
// 200 seems to turn about 57 degrees from it, and a world whose axis is its x or y about 90.
constexpr double kMostTiltDeg = 60;
constexpr double kMostAspect = 0.005;  // as `isocenter calibrate geometry` asks of a flat panel
// Pixels of 0.1 to 0.4 mm, magnified 1.5 times, are 0.07 to 0.3 mm at the isocentre; micro-CT has a
// fifth of that. Beyond 10 mm a head is 20 voxels wide. Outside is rather a slip of the unit.
constexpr double kLeastVoxelMm = 0.01, kMostVoxelMm = 10;
// Of the longest side of a grid, in diameters of what the detector sees: an inner ear is more, and
// a patient who reaches far beyond it less.
constexpr double kLeastExtent = 0.02, kMostExtent = 4;

class Doubts {
 public:
  void Number(const char* field, double value, double least, double most, const char* unit) {
    if (value == 0 || (value >= least && value <= most)) return;
    list.push_back(absl::StrFormat("%s is %g %s; plausible is %g to %g %s", field, value, unit,
                                   least, most, unit));
  }
  /// `date`: YYYYMMDD, or empty.
  void Date(const char* field, const std::string& date, absl::CivilDay least, absl::CivilDay most) {
    const std::optional<absl::CivilDay> day = DayOf(date);
    if (!day || (*day >= least && *day <= most)) return;
    list.push_back(absl::StrCat(field, " is ", date, "; plausible is ",
                                absl::FormatCivilTime(least), " to ", absl::FormatCivilTime(most)));
  }
  std::vector<std::string> list;
};

struct Steps {
  double largest_deg = 0, median_deg = 0;
  size_t frame = 0;  // before the largest
};

/// The angles between the sources of neighbouring frames, seen from the isocentre.
Steps StepsOf(const Trajectory& trajectory) {
  Steps steps;
  std::vector<double> all;
  Vec3 before;
  for (size_t view = 0; view < trajectory.size(); ++view) {
    const absl::StatusOr<Camera> camera = Decompose(trajectory[view]);
    if (!camera.ok()) return {};
    const Vec3 source = (1 / Norm(camera->source)) * camera->source;
    if (view > 0) {
      const double step =
          std::acos(std::clamp(Dot(before, source), -1.0, 1.0)) * 180 / std::numbers::pi;
      if (step > steps.largest_deg) {
        steps.largest_deg = step;
        steps.frame = view - 1;
      }
      all.push_back(step);
    }
    before = source;
  }
  if (all.empty()) return steps;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle);
  steps.median_deg = *middle;
  return steps;
}

std::optional<std::string> StepDoubt(const Steps& steps) {
  if (steps.largest_deg > kMostStepDeg) {
    return absl::StrFormat(
        "frames %d and %d are %.4g degrees of the arc apart; plausible is up to %g degrees: are "
        "the matrices of these frames?",
        steps.frame, steps.frame + 1, steps.largest_deg, kMostStepDeg);
  }
  const double most = std::max(kLeastGapDeg, kMostSteps * steps.median_deg);
  if (steps.largest_deg <= most) return std::nullopt;
  return absl::StrFormat(
      "frames %d and %d are %.4g degrees of the arc apart, where steps are %.3g degrees; plausible "
      "is up to %.3g degrees: are views missing between them?",
      steps.frame, steps.frame + 1, steps.largest_deg, steps.median_deg, most);
}

std::optional<std::string> AxisDoubt(const Trajectory& trajectory) {
  const absl::StatusOr<Vec3> axis = OrbitAxis(trajectory);
  if (!axis.ok()) return std::nullopt;
  const double tilt_deg = AngleBetween(*axis, {0, 0, 1}) * 180 / std::numbers::pi;
  if (tilt_deg <= kMostTiltDeg) return std::nullopt;
  return absl::StrFormat(
      "the sources turn about an axis along (%.2f, %.2f, %.2f), %.3g degrees from z; plausible is "
      "up to %g degrees: is the axis of rotation z of the matrices' world? The volume's z is taken "
      "for the patient's length, and its y for front and back",
      axis->x, axis->y, axis->z, tilt_deg, kMostTiltDeg);
}

/// A matrix tells the ratio of a pixel's sides whatever the distances: of a flat panel at any place
/// and angle it is that of the pitches (Hartley and Zisserman, Multiple View Geometry, 2004, 6.2).
std::optional<std::string> PixelDoubt(const Trajectory& trajectory, double pitch_u,
                                      double pitch_v) {
  if (pitch_u == 0 || pitch_v == 0 || trajectory.empty()) return std::nullopt;
  double squares = 0, aspects = 0;
  for (const ProjectionMatrix& matrix : trajectory) {
    const absl::StatusOr<Camera> camera = Decompose(matrix);
    if (!camera.ok()) return std::nullopt;
    const double aspect = std::abs(camera->focal_v_px / camera->focal_u_px) * pitch_v / pitch_u - 1;
    squares += aspect * aspect;
    aspects += aspect;
  }
  const auto views = static_cast<double>(trajectory.size());
  const double rms = std::sqrt(squares / views), ratio = pitch_u / pitch_v;
  if (rms <= kMostAspect) return std::nullopt;
  return absl::StrFormat(
      "the matrices' pixels have sides in a ratio (u to v) of %.4f, those of pitch_u_mm and "
      "pitch_v_mm (%g and %g) of %.4f, %.2f %% apart (root mean square); plausible is up to %g %%: "
      "are the pitches and the matrices of this detector?",
      ratio * (1 + aspects / views), pitch_u, pitch_v, ratio, 100 * rms, 100 * kMostAspect);
}

std::optional<std::string> VoxelDoubt(absl::string_view field, const VolumeGrid& grid) {
  const auto plausible = [](int voxels, double mm) {
    return voxels == 1 || (mm >= kLeastVoxelMm && mm <= kMostVoxelMm);
  };
  if (plausible(grid.nx, grid.spacing.x) && plausible(grid.ny, grid.spacing.y) &&
      plausible(grid.nz, grid.spacing.z)) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "the voxels of %s are %g x %g x %g mm; plausible is %g to %g mm: detectors of C-arms resolve "
      "nothing finer, and what is coarser hides what is looked for",
      field, grid.spacing.x, grid.spacing.y, grid.spacing.z, kLeastVoxelMm, kMostVoxelMm);
}

std::optional<std::string> ExtentDoubt(absl::string_view field, const VolumeGrid& grid,
                                       const Trajectory& trajectory, const Detector& detector) {
  const absl::StatusOr<FieldOfView> seen = ComputeFieldOfView(trajectory, detector);
  if (!seen.ok()) return std::nullopt;
  const double diameter = 2 * std::max(seen->radius_mm, seen->half_height_mm);
  const Vec3 sides{grid.nx * grid.spacing.x, grid.ny * grid.spacing.y, grid.nz * grid.spacing.z};
  const double longest = std::max({sides.x, sides.y, sides.z});
  if (longest >= kLeastExtent * diameter && longest <= kMostExtent * diameter) return std::nullopt;
  return absl::StrFormat(
      "%s is %.3g x %.3g x %.3g mm, and the detector sees %.3g mm; plausible is a longest side of "
      "%.3g to %.4g mm: are its voxels in millimetres?",
      field, sides.x, sides.y, sides.z, diameter, kLeastExtent * diameter, kMostExtent * diameter);
}

}  // namespace

std::vector<std::string> ImplausibleGrid(absl::string_view field, const VolumeGrid& grid,
                                         const Trajectory& trajectory, const Detector& detector) {
  std::vector<std::string> doubts;
  if (auto doubt = VoxelDoubt(field, grid)) doubts.push_back(*std::move(doubt));
  if (auto doubt = ExtentDoubt(field, grid, trajectory, detector)) {
    doubts.push_back(*std::move(doubt));
  }
  return doubts;
}

std::optional<std::string> CornerAtIsocenter(absl::string_view field, const v1::VolumeGrid& grid) {
  if (grid.centered() || grid.origin_x_mm() != 0 || grid.origin_y_mm() != 0 ||
      grid.origin_z_mm() != 0 || grid.nx() < 2 || grid.ny() < 2 || grid.nz() < 2) {
    return std::nullopt;
  }
  return absl::StrCat(field, ".centered is false and ", field,
                      ".origin (0, 0, 0) mm, so that the volume's corner is at the isocentre and "
                      "seven eighths of what is around it are outside: is ",
                      field, ".centered to be true?");
}

std::vector<std::string> ImplausibleMatrices(const Trajectory& trajectory, double pitch_u_mm,
                                             double pitch_v_mm) {
  std::vector<std::string> doubts;
  if (auto doubt = StepDoubt(StepsOf(trajectory))) doubts.push_back(*std::move(doubt));
  if (auto doubt = AxisDoubt(trajectory)) doubts.push_back(*std::move(doubt));
  if (auto doubt = PixelDoubt(trajectory, pitch_u_mm, pitch_v_mm)) {
    doubts.push_back(*std::move(doubt));
  }
  return doubts;
}

std::vector<std::string> ImplausibleFields(const v1::AcquisitionHeader& header,
                                           const Trajectory& trajectory, absl::Time now) {
  Doubts doubts;
  const v1::DetectorGeometry& detector = header.detector();
  doubts.Number("the detector's width (columns times pitch_u_mm)",
                detector.columns() * detector.pitch_u_mm(), 20, 1000, "mm");
  doubts.Number("the detector's height (rows times pitch_v_mm)",
                detector.rows() * detector.pitch_v_mm(), 5, 1000, "mm");
  doubts.Number("tube_voltage_kv", header.tube_voltage_kv(), 40, 150, "kV");
  doubts.Number("frame_rate_hz", header.frame_rate_hz(), 0.1, 500, "Hz");
  doubts.Number("circular.source_to_isocenter_mm", header.circular().source_to_isocenter_mm(), 300,
                2000, "mm");
  if (const auto doubt = CornerAtIsocenter("grid", header.grid())) doubts.list.push_back(*doubt);
  const absl::StatusOr<VolumeGrid> grid = GridFromProto(header.grid());
  const absl::StatusOr<Detector> pixels = DetectorFromProto(detector);
  if (grid.ok() && pixels.ok()) {
    for (std::string& doubt : ImplausibleGrid("grid", *grid, trajectory, *pixels)) {
      doubts.list.push_back(std::move(doubt));
    }
  }
  const absl::CivilDay tomorrow = absl::ToCivilDay(now, absl::LocalTimeZone()) + 1;
  const v1::PatientStudy& study = header.patient_study();
  doubts.Date("patient_study.study_date", study.study_date(), absl::CivilDay(1990, 1, 1), tomorrow);
  doubts.Date("patient_study.patient_birth_date", study.patient_birth_date(),
              absl::CivilDay(1900, 1, 2), tomorrow);
  for (std::string& doubt :
       ImplausibleMatrices(trajectory, detector.pitch_u_mm(), detector.pitch_v_mm())) {
    doubts.list.push_back(std::move(doubt));
  }
  return doubts.list;
}

}  // namespace isocenter::wire
