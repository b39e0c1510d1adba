#include "server/pipeline/facts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/units.h"
#include "server/crypto/digests.h"

namespace isocenter::pipeline {
namespace {

const char* WindowName(ops::FilterWindow window) {
  switch (window) {
    case ops::FilterWindow::kRamLak:
      return "ram-lak";
    case ops::FilterWindow::kSheppLogan:
      return "shepp-logan";
    case ops::FilterWindow::kCosine:
      return "cosine";
    case ops::FilterWindow::kHamming:
      return "hamming";
    case ops::FilterWindow::kHann:
      return "hann";
  }
  return "unknown";
}

/// `angles` has one or more, without jumps. C-arms sag and wobble: what differs by less than their
/// encoders resolve is the same increment.
jobs::PositionerScan ScanOf(const std::vector<double>& angles) {
  constexpr double kSameIncrementDeg = 0.1;
  const double travelled = angles.back() - angles.front();
  jobs::PositionerScan scan{.start_deg = angles.front() - 360 * std::round(angles.front() / 360),
                            .arc_deg = std::abs(travelled)};
  if (angles.size() < 2) return scan;
  const double increment = travelled / static_cast<double>(angles.size() - 1);
  for (size_t i = 1; i < angles.size(); ++i) {
    if (std::abs(angles[i] - angles[i - 1] - increment) > kSameIncrementDeg) return scan;
  }
  scan.increment_deg = increment;
  return scan;
}

jobs::MotionPose InDegrees(const RigidPose& pose) {
  const Vec3 shift = pose.shift_mm, turn = pose.turn_rad;
  return {.shift_x_mm = shift.x,
          .shift_y_mm = shift.y,
          .shift_z_mm = shift.z,
          .turn_x_deg = RadiansToDegrees(turn.x),
          .turn_y_deg = RadiansToDegrees(turn.y),
          .turn_z_deg = RadiansToDegrees(turn.z)};
}

}  // namespace

std::string TrajectoryHash(const Trajectory& trajectory) {
  static_assert(sizeof(ProjectionMatrix) == 12 * sizeof(double), "matrices are hashed as memory");
  return crypto::Sha256Hex({reinterpret_cast<const char*>(trajectory.data()),
                            trajectory.size() * sizeof(ProjectionMatrix)});
}

absl::StatusOr<PositionerScans> ScansOf(const Trajectory& trajectory, PatientPosition position) {
  if (trajectory.empty()) {
    return absl::InvalidArgumentError("the trajectory has 0 views; legal is 1 or more");
  }
  std::vector<double> primary, secondary;
  for (size_t view = 0; view < trajectory.size(); ++view) {
    const absl::StatusOr<Camera> camera = Decompose(trajectory[view]);
    if (!camera.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("view ", view, ": ", camera.status().message()));
    }
    const double distance = Norm(camera->source);
    if (!(distance > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("view ", view, ": the source is at the isocentre"));
    }
    // From the source through the isocentre to the detector. Primary: 0 in front of the patient,
    // +90 at the left hand. Secondary: + towards the head.
    const Vec3 beam = WorldToPatient(position, (-1 / distance) * camera->source);
    double angle = RadiansToDegrees(std::atan2(beam.x, -beam.y));
    if (!primary.empty()) angle += 360 * std::round((primary.back() - angle) / 360);
    primary.push_back(angle);
    secondary.push_back(RadiansToDegrees(std::asin(std::clamp(beam.z, -1.0, 1.0))));
  }
  return PositionerScans{ScanOf(primary), ScanOf(secondary)};
}

jobs::MotionFacts MotionFactsOf(const recon::FoundMotion& found) {
  const MotionExtent extent = ExtentOf(found.poses);
  jobs::MotionFacts facts{.found = found.moved,
                          .largest_shift_mm = extent.shift_mm,
                          .largest_turn_deg = RadiansToDegrees(extent.turn_rad),
                          .entropy_before = found.entropy_before,
                          .entropy_after = found.entropy_after};
  if (!found.moved) return facts;
  for (const RigidPose& pose : found.poses) facts.poses.push_back(InDegrees(pose));
  return facts;
}

jobs::SelfCalibrationFacts SelfCalibrationFactsOf(const recon::SelfCalibration& found) {
  jobs::SelfCalibrationFacts facts{.found = found.found(),
                                   .constant = found.constant,
                                   .smooth = found.smooth,
                                   .u_mm = found.u_mm,
                                   .roll_deg = RadiansToDegrees(found.roll_rad),
                                   .smooth_rms_mm = found.smooth_rms_mm(),
                                   .largest_smooth_mm = found.largest_smooth_mm(),
                                   .entropy_before = found.entropy_before,
                                   .entropy_after = found.entropy_after,
                                   .planes_before = found.planes_before,
                                   .planes_after = found.planes_after,
                                   .not_judged = found.not_judged};
  if (const auto& match = found.reference) {
    facts.reference = {.taken = match->taken,
                       .patient = InDegrees(match->patient),
                       .covered = match->covered,
                       .similarity_before = match->similarity_before,
                       .similarity_after = match->similarity_after,
                       .entropy = match->entropy,
                       .planes = match->planes};
  }
  if (!found.found()) return facts;
  for (const recon::DetectorMove& move : found.moves) {
    facts.moves.push_back({.u_mm = move.u_mm, .v_mm = move.v_mm});
  }
  return facts;
}

std::string FilterDescription(const recon::FdkSettings& settings) {
  return absl::StrFormat("%s %.2f", WindowName(settings.window), settings.cutoff);
}

jobs::AcquisitionFacts FactsOf(const AcquisitionRequest& request,
                               const recon::ReconstructionPlan& plan) {
  jobs::AcquisitionFacts facts;
  facts.tube_voltage_kv = request.tube_voltage_kv;
  facts.tube_current_ma = request.tube_current_ma;
  facts.exposure_mas = request.exposure_mas;
  facts.dose_area_product_dgycm2 = request.dose_area_product_dgycm2;
  facts.body_part_examined = request.body_part_examined;
  facts.patient_position = request.patient_position;
  facts.laterality = request.laterality;
  facts.series_description = request.series_description;
  facts.performing_physician_name = request.performing_physician_name;
  facts.operators_name = request.operators_name;
  facts.equipment = request.equipment;
  const recon::Acquisition& acquisition = plan.acquisition;
  facts.detector_rows = acquisition.detector.rows;
  facts.detector_columns = acquisition.detector.columns;
  facts.detector_bits = 8 * static_cast<int>(recon::PixelBytes(acquisition.pixel_type));
  facts.detector_row_spacing_mm = acquisition.detector.pitch_v_mm;
  facts.detector_column_spacing_mm = acquisition.detector.pitch_u_mm;
  if (acquisition.pixel_type == recon::PixelType::kUint16Counts) {
    facts.i0_counts = request.acquisition.i0_counts;
  }
  if (const auto scans = ScansOf(acquisition.trajectory, request.patient_position); scans.ok()) {
    facts.primary_scan = scans->primary;
    facts.secondary_scan = scans->secondary;
  }
  const Trajectory& trajectory = plan.acquisition.trajectory;
  const absl::StatusOr<Camera> middle = Decompose(trajectory[trajectory.size() / 2]);
  if (middle.ok()) {
    facts.source_to_isocenter_mm = Norm(middle->source);
    facts.source_to_detector_mm = middle->focal_u_px * plan.acquisition.detector.pitch_u_mm;
  }
  facts.arc_deg = RadiansToDegrees(plan.arc);
  facts.frames = plan.views();
  if (request.frame_rate_hz > 0) {
    facts.acquisition_seconds = (plan.views() - 1) / request.frame_rate_hz;
  }
  facts.filter_description = FilterDescription(plan.settings);
  facts.trajectory_hash = TrajectoryHash(trajectory);
  facts.calibration = request.calibration;
  facts.geometry = request.geometry;
  return facts;
}

}  // namespace isocenter::pipeline
