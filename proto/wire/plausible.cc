#include "proto/wire/plausible.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/civil_time.h"
#include "kernels/geometry/projection_matrix.h"
#include "proto/wire/field_checks.h"

namespace isocenter::wire {
namespace {

constexpr double kMostStepDeg = 60;

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

/// The largest angle between the sources of neighbouring frames, seen from the isocentre, and the
/// frame before it.
std::pair<double, size_t> LargestStep(const Trajectory& trajectory) {
  double largest = 0;
  size_t frame = 0;
  Vec3 before;
  for (size_t view = 0; view < trajectory.size(); ++view) {
    const absl::StatusOr<Camera> camera = Decompose(trajectory[view]);
    if (!camera.ok()) return {0, 0};
    const Vec3 source = (1 / Norm(camera->source)) * camera->source;
    const double step =
        view == 0 ? 0
                  : std::acos(std::clamp(Dot(before, source), -1.0, 1.0)) * 180 / std::numbers::pi;
    if (step > largest) {
      largest = step;
      frame = view - 1;
    }
    before = source;
  }
  return {largest, frame};
}

}  // namespace

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
  const absl::CivilDay tomorrow = absl::ToCivilDay(now, absl::LocalTimeZone()) + 1;
  const v1::PatientStudy& study = header.patient_study();
  doubts.Date("patient_study.study_date", study.study_date(), absl::CivilDay(1990, 1, 1), tomorrow);
  doubts.Date("patient_study.patient_birth_date", study.patient_birth_date(),
              absl::CivilDay(1900, 1, 2), tomorrow);
  if (const auto [step, frame] = LargestStep(trajectory); step > kMostStepDeg) {
    doubts.list.push_back(absl::StrFormat(
        "frames %d and %d are %.4g degrees of the arc apart; plausible is up to %g degrees: are "
        "the matrices of these frames?",
        frame, frame + 1, step, kMostStepDeg));
  }
  return doubts.list;
}

}  // namespace isocenter::wire
