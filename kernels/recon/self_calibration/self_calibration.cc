#include "kernels/recon/self_calibration/self_calibration.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/motion/find_motion.h"
#include "kernels/recon/motion/focus.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/self_calibration/reference/find_patient.h"
#include "kernels/recon/self_calibration/reference/reference_moves.h"
#include "kernels/recon/self_calibration/sharpness.h"
#include "kernels/recon/self_calibration/smooth_shifts.h"

namespace isocenter::recon {
namespace {

// Shares of the work that are done after each step.
constexpr double kRead = 0.1, kJudged = 0.95;
// Looks at all pairs where there is everything to be found.
constexpr double kMostLooks = 22, kMostReferenceLooks = 160;

std::vector<DetectorMove> Moves(const SelfCalibration& found) {
  return Then(found.moves, {.u_mm = found.u_mm, .roll_rad = found.roll_rad});
}

/// A shift along u of all frames, where pairs tell it. `found.moves` stay without it.
absl::Status TakeShift(const Acquisition& acquisition, const BinnedLines& lines,
                       ThreadPool& threads, const GoOn& go_on, SelfCalibration& found) {
  ISO_ASSIGN_OR_RETURN(const PlanesShift shift,
                       FindShift(acquisition, lines, found.moves,
                                 {.u_mm = found.u_mm, .roll_rad = found.roll_rad}, threads, go_on));
  found.not_judged = shift.not_judged;
  if (!shift.not_judged.empty()) return absl::OkStatus();
  if (found.planes_before == 0) found.planes_before = found.planes_after = shift.before;
  const double least = std::max(kLeastShiftPx * acquisition.detector.pitch_u_mm * lines.bins.bin,
                                kLeastShiftSigmas * shift.sigma_mm);
  // A wobble of which few lines are whole has a mean that explains nothing.
  const bool explains = shift.after < shift.before;
  if (!found.constant && (std::abs(shift.u_mm) < least || !explains)) return absl::OkStatus();
  found.constant = true;
  found.u_mm = shift.u_mm;
  found.planes_after = shift.after;
  return absl::OkStatus();
}

/// A roll of all frames, where pairs tell it.
absl::Status TakeRoll(const Acquisition& acquisition, const BinnedLines& lines, int spans,
                      ThreadPool& threads, const GoOn& go_on, SelfCalibration& found) {
  ISO_ASSIGN_OR_RETURN(const PlanesRoll roll, FindRoll(acquisition, lines, spans, found.moves,
                                                       {.u_mm = found.u_mm}, threads, go_on));
  if (!roll.not_judged.empty()) return absl::OkStatus();
  if (roll.after > (1 - kLeastRollFall) * roll.before) return absl::OkStatus();
  found.constant = true;
  found.roll_rad = roll.roll_rad;
  // What is constant along u was found beside another roll.
  return TakeShift(acquisition, lines, threads, go_on, found);
}

/// Shifts that change from frame to frame, and what is constant once more beside them.
absl::Status TakeSmooth(const Acquisition& acquisition, const BinnedLines& lines, int spans,
                        Sharpness& fine, ThreadPool& threads, const GoOn& go_on,
                        SelfCalibration& found) {
  ISO_ASSIGN_OR_RETURN(
      const SmoothShifts smooth,
      FindSmoothShifts(acquisition, lines, spans, found.moves,
                       {.u_mm = found.u_mm, .roll_rad = found.roll_rad}, threads, go_on));
  found.not_judged = smooth.not_judged;
  if (!smooth.not_judged.empty()) return absl::OkStatus();
  found.planes_after = smooth.before;
  if (smooth.after > (1 - kLeastPlaneFall) * smooth.before) return absl::OkStatus();
  const ConstantMove constant{.u_mm = found.u_mm, .roll_rad = found.roll_rad};
  ISO_ASSIGN_OR_RETURN(const double entropy, fine.Entropy(Then(smooth.moves, constant)));
  if (found.entropy_after - entropy < kLeastSmoothFall) return absl::OkStatus();
  found.smooth = true;
  found.moves = smooth.moves;
  found.planes_after = smooth.after;
  found.entropy_after = entropy;
  return absl::OkStatus();
}

double RmsApart(const std::vector<DetectorMove>& one, const std::vector<DetectorMove>& other) {
  double square = 0;
  for (size_t view = 0; view < one.size(); ++view) {
    square += std::pow(one[view].u_mm - other[view].u_mm, 2) +
              std::pow(one[view].v_mm - other[view].v_mm, 2);
  }
  return std::sqrt(square / static_cast<double>(one.size()));
}

/// Whether the moves of the reference are to be taken for those of the frames alone, by what its
/// search does not know: the entropy and the pairs. Both must find them clearly better than the
/// given matrices, and not clearly worse than what frames alone told. They cannot choose between
/// two that are good: what was fitted to the pairs' noise has smaller differences than the true
/// matrices.
bool IsToBeTaken(const Acquisition& acquisition, const BinnedLines& lines,
                 const std::vector<DetectorMove>& moves, const SelfCalibration& alone,
                 const ReferenceMatch& match) {
  const double pitch_mm = acquisition.detector.pitch_u_mm * lines.bins.bin;
  if (RmsApart(moves, Moves(alone)) < kLeastReferenceShiftPx * pitch_mm) return false;
  if (match.similarity_after <= match.similarity_before) return false;
  if (alone.entropy_before - match.entropy < kLeastSmoothFall) return false;
  if (match.entropy - alone.entropy_after > kLeastSmoothFall) return false;
  if (!alone.not_judged.empty()) return true;  // pairs cannot tell
  return match.planes > 0 && match.planes < (1 - kLeastPlaneFall) * alone.planes_before &&
         match.planes < (1 + kLeastPlaneFall) * alone.planes_after;
}

/// Against the place that the volume has by itself.
RigidPose PlaceIn(const PatientPlace& patient, const ReferenceVolume& reference) {
  RigidPose pose = PoseFrom(patient.six);
  pose.shift_mm = pose.shift_mm - reference.middle_mm;
  return pose;
}

/// Shifts along u and v by the reference, where they are better ones. `found` is what the frames
/// alone told. Its roll stays.
absl::Status TakeReference(const ReferenceScan& scan, int spans, Sharpness& cube, const GoOn& go_on,
                           SelfCalibration& found) {
  // Shifts of the frames alone that change over the scan may be those of noise.
  const std::vector<DetectorMove> begin(found.moves.size(),
                                        {.u_mm = found.u_mm, .roll_rad = found.roll_rad});
  ISO_ASSIGN_OR_RETURN(const PatientPlace patient, FindPatient(scan, begin, go_on));
  ISO_ASSIGN_OR_RETURN(const ReferenceMoves by_reference,
                       FindReferenceMoves(scan, patient, begin, spans, go_on));
  ReferenceMatch& match = found.reference.emplace();
  match.patient = PlaceIn(by_reference.patient, scan.reference);
  match.covered = by_reference.covered;
  match.similarity_before = by_reference.similarity_before;
  match.similarity_after = by_reference.similarity_after;
  ISO_RETURN_IF_ERROR(CheckReference(match));
  ISO_ASSIGN_OR_RETURN(match.entropy, cube.Entropy(by_reference.moves));
  ISO_ASSIGN_OR_RETURN(
      const PlanesDifference planes,
      JudgePlanes(scan.acquisition, scan.lines, by_reference.moves, scan.threads, go_on));
  match.planes = planes.not_judged.empty() ? planes.median : 0;
  match.taken = IsToBeTaken(scan.acquisition, scan.lines, by_reference.moves, found, match);
  if (!match.taken) {
    // The place that went with its shifts took a part of them.
    match.patient = PlaceIn(patient, scan.reference);
    return absl::OkStatus();
  }
  found.smooth = true;
  if (found.constant) {
    found.u_mm = 0;
    for (const DetectorMove& move : by_reference.moves) {
      found.u_mm += move.u_mm / static_cast<double>(by_reference.moves.size());
    }
  }
  found.moves = Then(by_reference.moves, {.u_mm = -found.u_mm, .roll_rad = -found.roll_rad});
  found.entropy_after = match.entropy;
  found.planes_after = match.planes;
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCalibrationViews(int64_t views) {
  if (views >= kLeastCalibrationViews) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the detector's place cannot be told from ", views,
                                                 " frames; legal is ", kLeastCalibrationViews,
                                                 " or more"));
}

double SelfCalibration::smooth_rms_mm() const {
  double square = 0;
  for (const DetectorMove& move : moves) {
    square += std::pow(move.u_mm - u_mm, 2) + std::pow(move.v_mm, 2);
  }
  return std::sqrt(square / static_cast<double>(std::max<size_t>(1, moves.size())));
}

double SelfCalibration::largest_smooth_mm() const {
  double largest = 0;
  for (const DetectorMove& move : moves) {
    largest = std::max(largest, std::hypot(move.u_mm - u_mm, move.v_mm));
  }
  return largest;
}

std::string ToText(const SelfCalibration& found) {
  const std::string entropies =
      absl::StrFormat("the entropy of the volume's values is %.4f, before %.4f",
                      found.entropy_after, found.entropy_before);
  std::string text =
      absl::StrCat("self-calibration: nothing found that makes the volume clearly sharper (",
                   entropies, "); the matrices are as they were");
  if (found.found()) {
    text = absl::StrFormat(
        "self-calibration: the detector was %.2f mm along u and %.3f deg of roll off", found.u_mm,
        RadiansToDegrees(found.roll_rad));
    if (found.smooth) {
      absl::StrAppendFormat(&text, ", and in its course up to %.2f mm more (rms %.2f mm)",
                            found.largest_smooth_mm(), found.smooth_rms_mm());
    }
    absl::StrAppend(&text, "; ", entropies);
  }
  if (!found.not_judged.empty()) {
    absl::StrAppend(
        &text, found.reference ? "; pairs of frames said nothing: " : "; nothing was looked for: ",
        found.not_judged);
  }
  if (found.reference) absl::StrAppend(&text, "; ", ToText(*found.reference));
  return text;
}

Trajectory Corrected(const Trajectory& trajectory, const Detector& detector,
                     const SelfCalibration& found) {
  if (!found.found()) return trajectory;
  Trajectory corrected;
  for (size_t view = 0; view < trajectory.size(); ++view) {
    corrected.push_back(Moved(trajectory[view], detector, found.moves[view]));
  }
  return corrected;
}

CalibrationSearch DefaultCalibrationSearch(const FdkSettings& fdk) {
  CalibrationSearch search{.fdk = FocusSettings(fdk)};
  search.fdk.truncation = ops::Truncation::kNone;  // frames that are cut are refused
  return search;
}

absl::StatusOr<CalibrationMemory> CalibrationMemoryOf(const Acquisition& acquisition,
                                                      const CalibrationSearch& search,
                                                      const ops::Registry& registry,
                                                      const ops::Device& device) {
  ISO_RETURN_IF_ERROR(CheckCalibrationViews(static_cast<int64_t>(acquisition.trajectory.size())));
  ISO_ASSIGN_OR_RETURN(
      const MotionMemory cube,
      MotionMemoryOf(acquisition,
                     {.levels = {{.spans = 1, .voxels = search.voxels}}, .fdk = search.fdk},
                     registry, device));
  // Frames for planes, and once more smoothed.
  const Acquisition lines = Binned(acquisition, BinsForPlanes(acquisition));
  int64_t planes = 2 * FrameBytes(lines) * static_cast<int64_t>(lines.trajectory.size());
  int64_t device_bytes = cube.device_bytes;
  if (search.reference != nullptr) {
    const ReferenceMemory reference = ReferenceMemoryOf(acquisition, search.reference->grid);
    planes += reference.host_bytes;
    device_bytes += reference.device_bytes;
  }
  return CalibrationMemory{.device_bytes = device_bytes, .host_bytes = cube.host_bytes + planes};
}

absl::StatusOr<SelfCalibration> CalibrateFromFrames(
    const Acquisition& acquisition, const CalibrationSearch& search, const ops::RawFrames& frames,
    std::span<const float> doses, const ops::Registry& registry, ops::Device& device,
    const CalibrationProgress& progress) {
  const CalibrationProgress report = [&](double done) {
    return progress == nullptr ? absl::OkStatus() : progress(done);
  };
  ISO_RETURN_IF_ERROR(ValidateAcquisition(acquisition));
  ISO_RETURN_IF_ERROR(CheckCalibrationViews(static_cast<int64_t>(acquisition.trajectory.size())));
  ISO_RETURN_IF_ERROR(CheckFrames(acquisition, static_cast<int64_t>(acquisition.trajectory.size()),
                                  frames, {}, doses));
  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid,
                       AutoGrid(acquisition.trajectory, acquisition.detector, search.voxels));
  ISO_ASSIGN_OR_RETURN(const BinnedLines finest,
                       FinestLines(acquisition, BinsFor(acquisition, grid.spacing.x), frames, doses,
                                   registry, device));
  ISO_RETURN_IF_ERROR(CheckWholeWidth(acquisition, finest, "the detector's place"));
  ISO_RETURN_IF_ERROR(report(kRead));
  ThreadPool threads(device.limits().threads);
  ISO_ASSIGN_OR_RETURN(const auto cube, Sharpness::Create(acquisition, finest, search.voxels,
                                                          search.fdk, registry, device, threads));
  ISO_ASSIGN_OR_RETURN(const BinnedLines lines, FinestLines(acquisition, BinsForPlanes(acquisition),
                                                            frames, doses, registry, device));
  double looks = 0;
  const GoOn go_on = [&] {
    const double most = kMostLooks + (search.reference == nullptr ? 0 : kMostReferenceLooks);
    const double share = std::min(1.0, looks++ / most);
    return report(kRead + (kJudged - kRead) * share);
  };
  SelfCalibration found;
  found.moves.resize(acquisition.trajectory.size());
  ISO_ASSIGN_OR_RETURN(found.entropy_before, cube->Entropy(found.moves));
  found.entropy_after = found.entropy_before;
  ISO_RETURN_IF_ERROR(TakeShift(acquisition, lines, threads, go_on, found));
  if (found.not_judged.empty()) {
    ISO_RETURN_IF_ERROR(TakeRoll(acquisition, lines, search.spans, threads, go_on, found));
    ISO_ASSIGN_OR_RETURN(found.entropy_after, cube->Entropy(Moves(found)));
    ISO_RETURN_IF_ERROR(TakeSmooth(acquisition, lines, search.spans, *cube, threads, go_on, found));
  }
  if (search.reference != nullptr) {
    const ReferenceScan scan{
        acquisition, lines,  *search.reference, search.fdk.mu_water_per_mm, registry,
        device,      threads};
    ISO_RETURN_IF_ERROR(TakeReference(scan, search.spans, *cube, go_on, found));
  }
  found.moves = Moves(found);
  ISO_RETURN_IF_ERROR(report(1));
  return found;
}

}  // namespace isocenter::recon
