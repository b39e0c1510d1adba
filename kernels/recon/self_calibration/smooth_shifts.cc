#include "kernels/recon/self_calibration/smooth_shifts.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/calibrate/consistency/scan_consistency.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {
namespace {

constexpr int kRounds = 3;  // shifts are linear only nearby, and drawn to 0

absl::StatusOr<calibrate::Consistency> Judged(const Acquisition& acquisition,
                                              const BinnedLines& lines,
                                              const std::vector<DetectorMove>& moves,
                                              std::span<const double> curves, ThreadPool& threads) {
  Acquisition moved = acquisition;
  for (size_t view = 0; view < moves.size(); ++view) {
    moved.trajectory[view] = Moved(acquisition.trajectory[view], acquisition.detector, moves[view]);
  }
  const Acquisition binned = Binned(moved, lines.bins);
  const auto made =
      calibrate::ScanConsistency::Make(binned.trajectory, binned.detector, /*i0_counts=*/1);
  if (absl::IsInvalidArgument(made.status())) {
    return calibrate::Consistency{.not_judged = std::string(made.status().message())};
  }
  ISO_RETURN_IF_ERROR(made.status());
  const std::unique_ptr<calibrate::ScanConsistency>& scan = *made;
  const size_t pixels = lines.shape.middle * lines.shape.fast;
  threads.ParallelFor(lines.shape.slow, [&](int64_t view, int) {
    scan->AddLines(static_cast<int>(view),
                   std::span(lines.lines).subspan(size_t(view) * pixels, pixels));
  });
  return scan->Judge(threads, curves);
}

// Where a parabola through three values, `step` apart, is least, at most two steps away; where they
// only fall, two steps that way.
double LeastOfParabola(double less, double here, double more, double step) {
  const double bend = less - 2 * here + more;
  if (bend <= 0) return less < more ? -2 * step : 2 * step;
  return std::clamp(step * (less - more) / (2 * bend), -2 * step, 2 * step);
}

}  // namespace

PixelBins BinsForPlanes(const Acquisition& acquisition) {
  const Detector& detector = acquisition.detector;
  const int bin = calibrate::ConsistencyBinning(detector);
  return {
      .bin = bin, .first_column = detector.columns % bin / 2, .first_row = detector.rows % bin / 2};
}

absl::StatusOr<SmoothShifts> FindSmoothShifts(const Acquisition& acquisition,
                                              const BinnedLines& lines, int spans,
                                              const std::vector<DetectorMove>& moves,
                                              const ConstantMove& constant, ThreadPool& threads,
                                              const GoOn& go_on) {
  const int views = static_cast<int>(acquisition.trajectory.size());
  const std::vector<double> curves = CurvesOf(views, FrameSpline(views, spans));
  SmoothShifts found{.moves = moves};
  const double pitch_u_mm = acquisition.detector.pitch_u_mm * lines.bins.bin;
  const double pitch_v_mm = acquisition.detector.pitch_v_mm * lines.bins.bin;
  for (int round = 0; round < kRounds; ++round) {
    ISO_RETURN_IF_ERROR(go_on());
    ISO_ASSIGN_OR_RETURN(const calibrate::Consistency judged,
                         Judged(acquisition, lines, Then(found.moves, constant), curves, threads));
    found.not_judged = judged.not_judged;
    if (!found.not_judged.empty()) return found;
    if (round == 0) found.before = judged.before;
    found.after = judged.after;
    for (int view = 0; view < views; ++view) {
      found.moves[view].u_mm += judged.shifts[view].u_px * pitch_u_mm;
      found.moves[view].v_mm += judged.shifts[view].v_px * pitch_v_mm;
    }
  }
  return found;
}

absl::StatusOr<PlanesDifference> JudgePlanes(const Acquisition& acquisition,
                                             const BinnedLines& lines,
                                             const std::vector<DetectorMove>& moves,
                                             ThreadPool& threads, const GoOn& go_on) {
  const std::vector<double> one_curve(moves.size(), 1.0);
  ISO_RETURN_IF_ERROR(go_on());
  ISO_ASSIGN_OR_RETURN(const calibrate::Consistency judged,
                       Judged(acquisition, lines, moves, one_curve, threads));
  return PlanesDifference{.median = judged.before, .not_judged = judged.not_judged};
}

absl::StatusOr<PlanesShift> FindShift(const Acquisition& acquisition, const BinnedLines& lines,
                                      const std::vector<DetectorMove>& moves,
                                      const ConstantMove& constant, ThreadPool& threads,
                                      const GoOn& go_on) {
  const std::vector<double> one_curve(moves.size(), 1.0);
  const double pitch_mm = acquisition.detector.pitch_u_mm * lines.bins.bin;
  PlanesShift found{.u_mm = constant.u_mm};
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<DetectorMove> moved =
        Then(moves, {.u_mm = found.u_mm, .roll_rad = constant.roll_rad});
    ISO_RETURN_IF_ERROR(go_on());
    ISO_ASSIGN_OR_RETURN(const calibrate::Consistency judged,
                         Judged(acquisition, lines, moved, one_curve, threads));
    found.not_judged = judged.not_judged;
    if (!found.not_judged.empty()) return found;
    if (round == 0) found.before = judged.before;
    found.after = judged.after;
    found.u_mm += judged.shifts.front().u_px * pitch_mm;
    found.sigma_mm = judged.shifts.front().u_sigma_px * pitch_mm;
  }
  return found;
}

absl::StatusOr<PlanesRoll> FindRoll(const Acquisition& acquisition, const BinnedLines& lines,
                                    int spans, const std::vector<DetectorMove>& moves,
                                    const ConstantMove& constant, ThreadPool& threads,
                                    const GoOn& go_on) {
  const auto views = static_cast<int>(acquisition.trajectory.size());
  const std::vector<double> curves = CurvesOf(views, FrameSpline(views, spans));
  PlanesRoll found{.roll_rad = constant.roll_rad};
  const auto at = [&](double change_deg) -> absl::StatusOr<double> {
    const ConstantMove rolled{.u_mm = constant.u_mm,
                              .roll_rad = found.roll_rad + DegreesToRadians(change_deg)};
    ISO_RETURN_IF_ERROR(go_on());
    ISO_ASSIGN_OR_RETURN(const calibrate::Consistency judged,
                         Judged(acquisition, lines, Then(moves, rolled), curves, threads));
    if (!judged.not_judged.empty()) found.not_judged = judged.not_judged;
    return judged.after;
  };
  ISO_ASSIGN_OR_RETURN(double here, at(0));
  found.before = here;
  // The median of differences has an edge where it is least: a parabola may miss it by a step, and
  // the values that it goes through are asked, too.
  for (const double step_deg : {0.4, 0.2, 0.1, 0.05}) {
    ISO_ASSIGN_OR_RETURN(const double less, at(-step_deg));
    ISO_ASSIGN_OR_RETURN(const double more, at(step_deg));
    const double change = LeastOfParabola(less, here, more, step_deg);
    ISO_ASSIGN_OR_RETURN(const double there, at(change));
    if (!found.not_judged.empty()) break;
    double best_deg = 0;
    for (const auto& [deg, value] :
         {std::pair(-step_deg, less), {step_deg, more}, {change, there}}) {
      if (value >= here) continue;
      best_deg = deg;
      here = value;
    }
    found.roll_rad += DegreesToRadians(best_deg);
  }
  found.after = here;
  return found;
}

}  // namespace isocenter::recon
