#include "kernels/recon/self_calibration/reference/reference_moves.h"

#include <memory>

#include "kernels/base/status_macros.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {
namespace {

constexpr int kRounds = 3;  // moves are linear only nearby
constexpr int kPlaceSteps = 3;
constexpr double kFinestMm = 1;

// [view][control point]
std::vector<double> CurvesOf(int views, const FrameSpline& spline) {
  const int controls = spline.controls();
  std::vector<double> curves(size_t(views) * controls), of_frames(views);
  for (int control = 0; control < controls; ++control) {
    std::vector<double> one(controls, 0.0);
    one[control] = 1;
    spline.Evaluate(one, 1, of_frames);
    for (int view = 0; view < views; ++view) {
      curves[size_t(view) * controls + control] = of_frames[view];
    }
  }
  return curves;
}

/// Adds what all views' equations want: unknowns are the control points along u, along v, and the
/// roll.
void Step(const std::vector<calibrate::NormalEquations>& of_views, const FrameSpline& spline,
          std::vector<DetectorMove>& moves) {
  const int views = static_cast<int>(moves.size()), controls = spline.controls();
  const std::vector<double> curves = CurvesOf(views, spline);
  const int unknowns = 2 * controls + 1;
  std::vector<double> matrix(size_t(unknowns) * unknowns, 0.0), right(unknowns, 0.0);
  // What a view's u, v and roll are of the unknowns.
  std::vector<double> row(size_t(3) * unknowns);
  for (int view = 0; view < views; ++view) {
    std::fill(row.begin(), row.end(), 0.0);
    for (int control = 0; control < controls; ++control) {
      const double weight = curves[size_t(view) * controls + control];
      row[control] = row[unknowns + controls + control] = weight;
    }
    row[3 * unknowns - 1] = 1;
    for (int a = 0; a < 3; ++a) {
      for (int i = 0; i < unknowns; ++i) {
        const double left = row[a * unknowns + i];
        if (left == 0) continue;
        right[i] += left * of_views[view].right[a];
        for (int b = 0; b < 3; ++b) {
          const double entry = left * of_views[view].matrix[3 * a + b];
          for (int j = 0; j < unknowns; ++j) {
            matrix[size_t(i) * unknowns + j] += entry * row[b * unknowns + j];
          }
        }
      }
    }
  }
  const std::vector<double> change = calibrate::Solve(matrix, right, 1e-9);
  for (int view = 0; view < views; ++view) {
    for (int control = 0; control < controls; ++control) {
      const double weight = curves[size_t(view) * controls + control];
      moves[view].u_mm += weight * change[control];
      moves[view].v_mm += weight * change[controls + control];
    }
    moves[view].roll_rad += change.back();
  }
}

/// Takes out what a patient who lies elsewhere would do to the isocentre in all frames, by least
/// squares: three directions of the world.
void TakeOutPlaces(const Acquisition& acquisition, std::vector<DetectorMove>& moves) {
  const Detector& detector = acquisition.detector;
  std::vector<double> modes(moves.size() * 6), matrix(9, 0.0), right(3, 0.0);
  for (size_t view = 0; view < moves.size(); ++view) {
    const auto& m = acquisition.trajectory[view].m;
    const double u = m[3] / m[11], v = m[7] / m[11];
    double* const mode = &modes[6 * view];
    for (int axis = 0; axis < 3; ++axis) {
      mode[axis] = (m[axis] - u * m[8 + axis]) / m[11] * detector.pitch_u_mm;
      mode[3 + axis] = (m[4 + axis] - v * m[8 + axis]) / m[11] * detector.pitch_v_mm;
    }
    for (int i = 0; i < 3; ++i) {
      right[i] += mode[i] * moves[view].u_mm + mode[3 + i] * moves[view].v_mm;
      for (int j = 0; j < 3; ++j) {
        matrix[3 * i + j] += mode[i] * mode[j] + mode[3 + i] * mode[3 + j];
      }
    }
  }
  const std::vector<double> shift = calibrate::Solve(matrix, right, 0);
  for (size_t view = 0; view < moves.size(); ++view) {
    for (int axis = 0; axis < 3; ++axis) {
      moves[view].u_mm -= modes[6 * view + axis] * shift[axis];
      moves[view].v_mm -= modes[6 * view + 3 + axis] * shift[axis];
    }
  }
}

}  // namespace

absl::StatusOr<ReferenceMoves> FindReferenceMoves(const ReferenceScan& scan,
                                                  const PatientPlace& patient, int spans,
                                                  const GoOn& go_on) {
  const int views = static_cast<int>(scan.acquisition.trajectory.size());
  const double air_mu = kAirShare * scan.mu_water_per_mm;
  const FrameSpline spline(views, spans);
  const auto at = [&](const ComparisonLevel& level) {
    return Comparison::Create(scan.acquisition, scan.lines, scan.reference, level, scan.registry,
                              scan.device, scan.threads);
  };
  ISO_ASSIGN_OR_RETURN(const auto place_level, at(FinestPlaceLevel(scan)));
  ISO_ASSIGN_OR_RETURN(const auto finest, at({.sigma_mm = kFinestMm}));
  ReferenceMoves found{.patient = patient, .moves = std::vector<DetectorMove>(views)};
  found.covered = finest->CountCovered(found.patient.six, found.moves, air_mu);
  ISO_ASSIGN_OR_RETURN(found.similarity_before,
                       finest->Similarity(found.patient.six, found.moves));
  for (int round = 0; round < kRounds; ++round) {
    ISO_RETURN_IF_ERROR(go_on());
    if (round > 0) {
      ISO_ASSIGN_OR_RETURN(found.patient, Refined(*place_level, found.patient, found.moves, air_mu,
                                                  kPlaceSteps, go_on));
    }
    ISO_ASSIGN_OR_RETURN(const std::vector<calibrate::NormalEquations> equations,
                         finest->OfMoves(found.patient.six, found.moves));
    Step(equations, spline, found.moves);
  }
  ISO_ASSIGN_OR_RETURN(found.similarity_after,
                       finest->Similarity(found.patient.six, found.moves));
  TakeOutPlaces(scan.acquisition, found.moves);
  return found;
}

}  // namespace isocenter::recon
