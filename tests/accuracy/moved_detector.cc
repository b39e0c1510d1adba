#include "tests/accuracy/moved_detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <span>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/phantom/noise.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/motion/minimize.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter::moved_detector {

using recon::DetectorMove;

Trajectory Nominal() {
  return *MakeCircularOrbit({.views = kViews,
                             .source_to_isocenter_mm = 750,
                             .source_to_detector_mm = 1200,
                             .arc = DegreesToRadians(200)},
                            kDetector);
}

Trajectory With(const std::vector<DetectorMove>& moves) {
  Trajectory moved = Nominal();
  for (int view = 0; view < kViews; ++view) {
    moved[view] = recon::Moved(moved[view], kDetector, moves[view]);
  }
  return moved;
}

std::vector<DetectorMove> Wobble(uint64_t seed) {
  std::mt19937_64 random(seed);
  double phases[4];
  for (double& phase : phases) phase = static_cast<double>(random() % 6283) / 1000;
  std::vector<DetectorMove> moves(kViews);
  for (int view = 0; view < kViews; ++view) {
    const double at = 2 * std::numbers::pi * view / (kViews - 1);
    moves[view] = {.u_mm = 0.7 * std::sin(at + phases[0]) + 0.35 * std::sin(2 * at + phases[1]),
                   .v_mm = 0.7 * std::sin(at + phases[2]) + 0.35 * std::sin(2 * at + phases[3])};
  }
  return moves;
}

std::vector<float> FramesOf(const phantom::Phantom& object, const Trajectory& seen,
                            uint64_t noise_seed) {
  constexpr double kI0 = 60000;
  std::vector<float> frames(kShape.count());
  const size_t pixels = kShape.middle * kShape.fast;
  std::vector<uint16_t> counts(pixels);
  ThreadPool pool(UsableCores());
  for (int view = 0; view < kViews; ++view) {
    phantom::ProjectView(object, seen[view], kDetector, 1, pool,
                         HostView3<float>(frames.data(), kShape).slices(view, 1));
    const std::span<float> lines = std::span(frames).subspan(view * pixels, pixels);
    phantom::ToCounts(lines, kI0, {.photons = 40000, .seed = noise_seed}, view, counts);
    for (size_t i = 0; i < pixels; ++i) {
      lines[i] = static_cast<float>(-std::log(std::max<double>(0.5, counts[i]) / kI0));
    }
  }
  return frames;
}

double Apart(const Trajectory& one, const Trajectory& other) {
  std::vector<Vec3> points;
  for (int i = 0; i < 24; ++i) {
    const double angle = 2 * std::numbers::pi * i / 8;
    points.push_back({60 * std::cos(angle), 60 * std::sin(angle), 50.0 * (i / 8 - 1)});
  }
  const auto square = [&](std::span<const double> seven) {
    const RigidTransform place = TransformOf(recon::PoseFrom(seven.first(6)));
    double sum = 0;
    for (const Vec3 point : points) {
      const Vec3 placed = (1 + seven[6] / recon::kLeverMm) * place(point);
      for (int view = 0; view < kViews; ++view) {
        const Projected a = one[view].Project(placed), b = other[view].Project(point);
        sum += std::pow(a.u() - b.u(), 2) + std::pow(a.v() - b.v(), 2);
      }
    }
    return sum * std::pow(kDetector.pitch_u_mm, 2) / static_cast<double>(points.size() * kViews);
  };
  const recon::Function apart = [&](std::span<const double> seven, std::span<double> gradient) {
    constexpr double kStepMm = 0.01;
    for (size_t i = 0; i < seven.size(); ++i) {
      std::vector<double> more(seven.begin(), seven.end()), less = more;
      more[i] += kStepMm;
      less[i] -= kStepMm;
      gradient[i] = (square(more) - square(less)) / (2 * kStepMm);
    }
    return absl::StatusOr<double>(square(seven));
  };
  std::vector<double> seven(7, 0.0);
  EXPECT_TRUE(recon::Minimize(apart, 0.1, 60, 1e-8, seven).ok());
  return std::sqrt(square(seven));
}

double WireWidth(const Trajectory& seen, const Trajectory& believed) {
  constexpr Detector kFine{.columns = 620, .rows = 24, .pitch_u_mm = 0.616, .pitch_v_mm = 0.616};
  constexpr Shape3 kFrames{kViews, 24, 620};
  const auto fine = [&](Trajectory trajectory) {  // pixels of half the size, the middle rows
    for (ProjectionMatrix& matrix : trajectory) {
      for (int i = 0; i < 4; ++i) {
        matrix.m[i] = 2 * matrix.m[i] + 0.5 * matrix.m[8 + i];
        matrix.m[4 + i] = 2 * matrix.m[4 + i] + (0.5 - (480 - 24) / 2) * matrix.m[8 + i];
      }
    }
    return trajectory;
  };
  const auto wire = *phantom::MakePhantom("wire", 100, kMuWater);
  const Trajectory true_matrices = fine(seen);
  std::vector<float> frames(kFrames.count());
  ThreadPool pool(UsableCores());
  for (int view = 0; view < kViews; ++view) {
    phantom::ProjectView(*wire, true_matrices[view], kFine, 4, pool,
                         HostView3<float>(frames.data(), kFrames).slices(view, 1));
  }
  constexpr double kVoxelMm = 0.05;
  VolumeGrid grid = CenteredGrid(121, 121, 1, {kVoxelMm, kVoxelMm, kVoxelMm});
  grid.origin.x += 25;
  const recon::Acquisition scan{.detector = kFine,
                                .pixel_type = recon::PixelType::kFloat32LineIntegrals,
                                .trajectory = fine(believed)};
  const auto device = *Backends().OpenDevice("cpu", {});
  const ops::Device* const devices[] = {device.get()};
  const auto plan = *recon::MakePlan(scan, grid, {.mu_water_per_mm = kMuWater}, Backends(), devices,
                                     recon::Arrival::kComplete);
  std::vector<float> slice(grid.voxels());
  EXPECT_TRUE(recon::ReconstructAll(plan, Backends(), *device,
                                    {.line_integrals = {frames.data(), kFrames}},
                                    {slice.data(), grid.shape()})
                  .ok());
  const float half = *std::max_element(slice.begin(), slice.end()) / 2;
  const auto above = std::count_if(slice.begin(), slice.end(), [&](float hu) { return hu > half; });
  return 2 * std::sqrt(static_cast<double>(above) * kVoxelMm * kVoxelMm / std::numbers::pi);
}

}  // namespace isocenter::moved_detector
