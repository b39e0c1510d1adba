#include "kernels/recon/self_calibration/reference/reference_moves.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/self_calibration/smooth_shifts.h"

namespace isocenter::recon {
namespace {

constexpr int kRounds = 2;  // moves are linear only nearby
constexpr double kJointMm = 2.7, kFinestMm = 1.3;
constexpr int kJointViews = 60;
// A patient who is shifted is nearly a detector that is: what both tell alike stays where it is.
constexpr double kDamping = 1e-5;

/// Adds what all views' equations want. Unknowns are the six parameters where the equations have
/// them, the control points along u, and those along v.
void Step(const std::vector<int>& seen, const std::vector<calibrate::NormalEquations>& of_views,
          const FrameSpline& spline, std::vector<double>& six, std::vector<DetectorMove>& moves) {
  const int views = static_cast<int>(moves.size()), controls = spline.controls();
  const std::vector<double> curves = CurvesOf(views, spline);
  const int own = static_cast<int>(of_views.front().right.size());  // unknowns of a view
  const int pose = own - 2;
  const int unknowns = pose + 2 * controls;
  std::vector<double> matrix(size_t(unknowns) * unknowns, 0.0), right(unknowns, 0.0);
  // What a view's own are of all unknowns.
  std::vector<double> row(size_t(own) * unknowns);
  for (size_t of = 0; of < seen.size(); ++of) {
    const int view = seen[of];
    const calibrate::NormalEquations& equations = of_views[of];
    std::fill(row.begin(), row.end(), 0.0);
    for (int i = 0; i < pose; ++i) row[i * unknowns + i] = 1;
    for (int control = 0; control < controls; ++control) {
      const double weight = curves[size_t(view) * controls + control];
      row[pose * unknowns + pose + control] = weight;
      row[(pose + 1) * unknowns + pose + controls + control] = weight;
    }
    for (int a = 0; a < own; ++a) {
      for (int i = 0; i < unknowns; ++i) {
        const double left = row[a * unknowns + i];
        if (left == 0) continue;
        right[i] += left * equations.right[a];
        for (int b = 0; b < own; ++b) {
          const double entry = left * equations.matrix[own * a + b];
          for (int j = 0; j < unknowns; ++j) {
            matrix[size_t(i) * unknowns + j] += entry * row[b * unknowns + j];
          }
        }
      }
    }
  }
  const std::vector<double> change = calibrate::Solve(matrix, right, kDamping);
  for (int i = 0; i < pose; ++i) six[i] += change[i];
  for (int view = 0; view < views; ++view) {
    for (int control = 0; control < controls; ++control) {
      const double weight = curves[size_t(view) * controls + control];
      moves[view].u_mm += weight * change[pose + control];
      moves[view].v_mm += weight * change[pose + controls + control];
    }
  }
}

/// Takes out what a patient who lies elsewhere would do to the isocentre in all frames, by least
/// squares: three directions of the world. The patient takes it.
void TakeOutPlaces(const Acquisition& acquisition, std::vector<double>& six,
                   std::vector<DetectorMove>& moves) {
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
  for (int axis = 0; axis < 3; ++axis) six[axis] += shift[axis];
  for (size_t view = 0; view < moves.size(); ++view) {
    for (int axis = 0; axis < 3; ++axis) {
      moves[view].u_mm -= modes[6 * view + axis] * shift[axis];
      moves[view].v_mm -= modes[6 * view + 3 + axis] * shift[axis];
    }
  }
}

}  // namespace

double ReferenceVoxelMm(const Acquisition& acquisition) {
  return PixelAtIsocenterMm(Binned(acquisition, BinsForPlanes(acquisition)));
}

// Two comparisons live at a time: frames, a copy of the reference on the host and one on the
// device, and some frames' radiographs on both.
ReferenceMemory ReferenceMemoryOf(const Acquisition& acquisition, const VolumeGrid& reference) {
  const Acquisition lines = Binned(acquisition, BinsForPlanes(acquisition));
  const int64_t volume = reference.voxels() * static_cast<int64_t>(sizeof(float));
  const int64_t radiographs = FrameBytes(lines) * kMostRadiographs;
  // Binned again, of the views that are compared, and which of their pixels count (a byte each).
  const int64_t frames = 9 * FrameBytes(lines) / 4 * static_cast<int64_t>(lines.trajectory.size());
  return {.device_bytes = 2 * (volume + radiographs),
          .host_bytes = 2 * (volume + radiographs + frames)};
}

absl::StatusOr<ReferenceMoves> FindReferenceMoves(const ReferenceScan& scan,
                                                  const PatientPlace& patient,
                                                  std::vector<DetectorMove> moves, int spans,
                                                  const GoOn& go_on) {
  const int views = static_cast<int>(scan.acquisition.trajectory.size());
  const double air_mu = kAirShare * scan.mu_water_per_mm;
  const FrameSpline spline(views, spans);
  const auto at = [&](const ComparisonLevel& level) {
    return Comparison::Create(scan.acquisition, scan.lines, scan.reference, level, scan.registry,
                              scan.device, scan.threads);
  };
  ReferenceMoves found{.patient = patient, .moves = std::move(moves)};
  std::vector<double>& six = found.patient.six;
  ISO_ASSIGN_OR_RETURN(const auto finest, at({.sigma_mm = kFinestMm}));
  found.covered = finest->CountCovered(six, found.moves, air_mu);
  ISO_ASSIGN_OR_RETURN(found.similarity_before, finest->Similarity(six, found.moves));
  {
    ISO_ASSIGN_OR_RETURN(const auto joint, at({.sigma_mm = kJointMm, .views = kJointViews}));
    joint->CountCovered(six, found.moves, air_mu);
    for (int round = 0; round < kRounds; ++round) {
      ISO_RETURN_IF_ERROR(go_on());
      ISO_ASSIGN_OR_RETURN(const Comparison::Equations here,
                           joint->Changes(Comparison::Of::kBoth, six, found.moves));
      Step(joint->views(), here.of_views, spline, six, found.moves);
    }
  }
  ISO_RETURN_IF_ERROR(go_on());
  ISO_ASSIGN_OR_RETURN(const Comparison::Equations last,
                       finest->Changes(Comparison::Of::kShift, six, found.moves));
  Step(finest->views(), last.of_views, spline, six, found.moves);
  ISO_ASSIGN_OR_RETURN(found.similarity_after, finest->Similarity(found.patient.six, found.moves));
  TakeOutPlaces(scan.acquisition, six, found.moves);
  return found;
}

}  // namespace isocenter::recon
