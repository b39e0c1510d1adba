#include "kernels/recon/self_calibration/reference/find_patient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {
namespace {

// Coarse ones see far, fine ones see well.
constexpr ComparisonLevel kLevels[] = {{.sigma_mm = 16, .views = 10},
                                       {.sigma_mm = 8, .views = 12},
                                       {.sigma_mm = 4, .views = 16},
                                       {.sigma_mm = 2.7, .views = 24}};
constexpr int kStartSteps = 8, kSteps = 12;
constexpr double kLeastStepMm = 0.005;

/// Where the rays' attenuation has its middle: the point that is seen nearest to the middles of all
/// frames' line integrals.
Vec3 MiddleOfFrames(const ReferenceScan& scan) {
  const Acquisition binned = Binned(scan.acquisition, scan.lines.bins);
  const Detector& detector = binned.detector;
  double normal[9] = {}, right[3] = {};
  for (size_t view = 0; view < binned.trajectory.size(); ++view) {
    double sum = 0, sum_u = 0, sum_v = 0;
    const float* line = &scan.lines.lines[view * detector.rows * detector.columns];
    for (int v = 0; v < detector.rows; ++v) {
      for (int u = 0; u < detector.columns; ++u, ++line) {
        const double value = std::max(0.0F, *line);
        sum += value, sum_u += value * u, sum_v += value * v;
      }
    }
    if (!(sum > 0)) continue;
    // (p₁ - u p₃)·(x, 1) = 0 and (p₂ - v p₃)·(x, 1) = 0
    const auto& m = binned.trajectory[view].m;
    for (const auto& [row, at] : {std::pair(0, sum_u / sum), {4, sum_v / sum}}) {
      double a[4];
      for (int i = 0; i < 4; ++i) a[i] = m[row + i] - at * m[8 + i];
      for (int i = 0; i < 3; ++i) {
        right[i] -= a[i] * a[3];
        for (int j = 0; j < 3; ++j) normal[3 * i + j] += a[i] * a[j];
      }
    }
  }
  const std::vector<double> x = calibrate::Solve(normal, right, 0);
  return {x[0], x[1], x[2]};
}

Vec3 MiddleOfVolume(const ReferenceVolume& reference) {
  const VolumeGrid& grid = reference.grid;
  double sum = 0, i_sum = 0, j_sum = 0, k_sum = 0;
  const float* mu = reference.mu.data();
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i, ++mu) {
        sum += *mu, i_sum += *mu * i, j_sum += *mu * j, k_sum += *mu * k;
      }
    }
  }
  return sum > 0 ? grid.VoxelToWorld(i_sum / sum, j_sum / sum, k_sum / sum) : Vec3{};
}

/// The pose that turns about `middle` and takes it to `to`.
std::vector<double> About(const Vec3& middle, const Vec3& to, const Vec3& turn_rad) {
  RigidPose pose{.turn_rad = turn_rad};
  pose.shift_mm = to - TransformOf(pose)(middle);
  return ParametersOf(pose);
}

std::vector<std::vector<double>> Starts(const ReferenceScan& scan) {
  const Vec3 volume = MiddleOfVolume(scan.reference), frames = MiddleOfFrames(scan);
  const double turn = DegreesToRadians(15);
  std::vector<std::vector<double>> starts;
  for (const Vec3& to : {volume + scan.reference.middle_mm, frames}) {
    for (const Vec3& turned : {Vec3{}, Vec3{0, 0, turn}, Vec3{0, 0, -turn}, Vec3{turn, 0, 0},
                               Vec3{-turn, 0, 0}, Vec3{0, turn, 0}, Vec3{0, -turn, 0}}) {
      starts.push_back(About(volume, to, turned));
    }
  }
  return starts;
}

calibrate::NormalEquations Sum(const std::vector<calibrate::NormalEquations>& of_views) {
  calibrate::NormalEquations sum = of_views.front();
  for (size_t view = 1; view < of_views.size(); ++view) {
    for (size_t i = 0; i < sum.matrix.size(); ++i) sum.matrix[i] += of_views[view].matrix[i];
    for (size_t i = 0; i < sum.right.size(); ++i) sum.right[i] += of_views[view].right[i];
  }
  return sum;
}

/// Steps of Levenberg and Marquardt from `place`, as long as they make the similarity greater, at
/// most `most_steps`. Pixels that count are those that the volume covers at the beginning.
absl::StatusOr<PatientPlace> Nearer(Comparison& comparison, PatientPlace place,
                                    std::span<const DetectorMove> moves, double air_mu,
                                    int most_steps, const GoOn& go_on) {
  comparison.CountCovered(place.six, moves, air_mu);
  double damping = 1e-3;
  for (int step = 0; step < most_steps; ++step) {
    ISO_RETURN_IF_ERROR(go_on());
    ISO_ASSIGN_OR_RETURN(const Comparison::Equations here,
                         comparison.Changes(Comparison::Of::kPose, place.six, moves));
    place.similarity = here.similarity;
    const calibrate::NormalEquations sum = Sum(here.of_views);
    bool better = false;
    double length = 0;
    for (int trial = 0; trial < 4 && !better; ++trial) {
      const std::vector<double> change = calibrate::Solve(sum.matrix, sum.right, damping);
      std::vector<double> there = place.six;
      length = 0;
      for (int i = 0; i < 6; ++i) {
        there[i] += change[i];
        length = std::max(length, std::abs(change[i]));
      }
      ISO_ASSIGN_OR_RETURN(const double similarity, comparison.Similarity(there, moves));
      better = similarity > place.similarity;
      damping = better ? std::max(1e-6, damping / 10) : std::max(1e-2, damping * 10);
      if (better) place = {there, similarity};
    }
    if (!better || length < kLeastStepMm) break;
  }
  return place;
}

}  // namespace

absl::StatusOr<PatientPlace> FindPatient(const ReferenceScan& scan,
                                         std::span<const DetectorMove> moves, const GoOn& go_on) {
  const double air_mu = kAirShare * scan.mu_water_per_mm;
  PatientPlace best;
  const auto at = [&](const ComparisonLevel& level) {
    return Comparison::Create(scan.acquisition, scan.lines, scan.reference, level, scan.registry,
                              scan.device, scan.threads);
  };
  {
    ISO_ASSIGN_OR_RETURN(const auto coarse, at(kLevels[0]));
    double most = -1;
    for (const std::vector<double>& start : Starts(scan)) {
      ISO_ASSIGN_OR_RETURN(const PatientPlace place,
                           Nearer(*coarse, {.six = start}, moves, air_mu, kStartSteps, go_on));
      // A place from where little of the frames is compared says little.
      const double covered = coarse->CountCovered(place.six, moves, air_mu);
      if (best.six.empty() || place.similarity * covered > most) {
        most = place.similarity * covered;
        best = place;
      }
    }
  }
  for (const ComparisonLevel& level : std::span(kLevels).subspan(1)) {
    ISO_ASSIGN_OR_RETURN(const auto comparison, at(level));
    ISO_ASSIGN_OR_RETURN(best, Nearer(*comparison, best, moves, air_mu, kSteps, go_on));
    if (&level != &std::span(kLevels).back()) continue;
    const std::vector<double> own = ParametersOf({.shift_mm = scan.reference.middle_mm});
    comparison->CountCovered(own, moves, air_mu);
    ISO_ASSIGN_OR_RETURN(const double there, comparison->Similarity(own, moves));
    ISO_ASSIGN_OR_RETURN(const double found, comparison->Similarity(best.six, moves));
    if (found - there < kLeastPlaceGain) best = {own, there};
  }
  return best;
}

}  // namespace isocenter::recon
