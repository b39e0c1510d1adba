// What gating gives of a beating heart, in Hounsfield units: noise-free scans of 200 degrees over
// 15 irregular beats against the phantom in the phase itself, around the heart. The cpu backend
// computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/geometry/phases/phase_curve.h"
#include "kernels/phantom/thorax.h"
#include "kernels/recon/gating/gating.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter {
namespace {

using Volume = std::vector<float>;

constexpr double kMuWater = 0.02;  // 1/mm
constexpr double kScaleMm = 100;
constexpr int kViews = 300;
const Detector kDetector{.columns = 124, .rows = 96, .pitch_u_mm = 3.08, .pitch_v_mm = 3.08};
const VolumeGrid kGrid = CenteredGrid(64, 64, 56, {3.3, 3.3, 3.3});

struct Scan {
  recon::Acquisition acquisition;
  std::vector<float> phases;
  Volume frames;

  ops::RawFrames view() const {
    const auto views = static_cast<int64_t>(acquisition.trajectory.size());
    return {.line_integrals = {frames.data(), {views, kDetector.rows, kDetector.columns}}};
  }
};

std::unique_ptr<phantom::Phantom> InPhase(double phase) {
  return phantom::MakeThorax(kScaleMm, kMuWater, phantom::Organ::kHeart,
                             phantom::Excursion(phantom::Organ::kHeart, phase));
}

const Scan& WholeScan() {
  static const Scan* const made = [] {
    auto* scan = new Scan;
    scan->acquisition.detector = kDetector;
    scan->acquisition.pixel_type = recon::PixelType::kFloat32LineIntegrals;
    scan->acquisition.trajectory = *MakeCircularOrbit({.views = kViews,
                                                       .source_to_isocenter_mm = 750,
                                                       .source_to_detector_mm = 1200,
                                                       .start_angle = DegreesToRadians(-100),
                                                       .arc = DegreesToRadians(205)},
                                                      kDetector);
    scan->phases = *PhasesOfFrames({.cycles = 15, .irregular = 0.08, .seed = 4}, kViews);
    const Shape3 shape{kViews, kDetector.rows, kDetector.columns};
    scan->frames.resize(shape.count());
    ThreadPool pool(UsableCores());
    for (int view = 0; view < kViews; ++view) {
      phantom::ProjectView(*InPhase(scan->phases[view]), scan->acquisition.trajectory[view],
                           kDetector, 2, pool,
                           HostView3<float>(scan->frames.data(), shape).slices(view, 1));
    }
    return scan;
  }();
  return *made;
}

Scan Gated(const PhaseWindow& window) {
  const Scan& whole = WholeScan();
  ChosenViews chosen = *ChooseViews(whole.phases, window);
  Scan gated;
  const int64_t frame = int64_t{kDetector.rows} * kDetector.columns;
  for (const int view : chosen.views) {
    const auto begin = whole.frames.begin() + view * frame;
    gated.frames.insert(gated.frames.end(), begin, begin + frame);
  }
  gated.acquisition = *recon::GatedAcquisition(whole.acquisition, std::move(chosen));
  return gated;
}

Volume Fdk(const Scan& scan) {
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan = recon::MakePlan(scan.acquisition, kGrid, {.mu_water_per_mm = kMuWater},
                                    Backends(), *device, recon::Arrival::kComplete);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  const auto done = recon::ReconstructAll(*plan, Backends(), *device, scan.view(),
                                          {volume.data(), kGrid.shape()});
  EXPECT_TRUE(done.ok()) << done.status();
  return volume;
}

Volume Iterated(const Scan& scan, const Volume& start, double prior, double prior_image) {
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  const auto plan =
      recon::MakeRefinementPlan(scan.acquisition, kGrid, {.mu_water_per_mm = kMuWater},
                                {.algorithm = recon::Algorithm::kAsdPocs,
                                 .iterations = 20,
                                 .warm_start = false,
                                 .prior_strength = prior,
                                 .prior_image = prior_image},
                                Backends(), devices);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  const auto reports = recon::RefineFrom({start.data(), kGrid.shape()}, *plan, Backends(), devices,
                                         scan.view(), {volume.data(), kGrid.shape()});
  EXPECT_TRUE(reports.ok()) << reports.status();
  return volume;
}

// RMSE in HU in a box around the heart.
double Error(const Volume& volume, double phase) {
  Volume truth(kGrid.voxels());
  ThreadPool pool(UsableCores());
  phantom::Rasterize(*InPhase(phase), kGrid, kMuWater, 2, pool, {truth.data(), kGrid.shape()});
  double squares = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < kGrid.voxels(); ++i) {
    const Vec3 at = kGrid.VoxelToWorld(double(i % kGrid.nx), double(i / kGrid.nx % kGrid.ny),
                                       double(i / (int64_t{kGrid.nx} * kGrid.ny)));
    const Vec3 from = at - Vec3{16, -18, -10};
    if (std::abs(from.x) > 36 || std::abs(from.y) > 34 || std::abs(from.z) > 40) continue;
    squares += (volume[i] - truth[i]) * (volume[i] - truth[i]);
    ++counted;
  }
  return std::sqrt(squares / double(counted));
}

TEST(GatedAccuracy, Explore) {
  const Volume all = Fdk(WholeScan());
  for (const double phase : {0.35, 0.8}) {
    for (const double width : {0.15, 0.3}) {
      const Scan gated = Gated({.centre = phase, .width = width});
      const Volume fdk = Fdk(gated);
      std::printf("phase %.2f width %.2f: %zu frames, ungated %.1f HU, gated %.1f", phase, width,
                  gated.acquisition.trajectory.size(), Error(all, phase), Error(fdk, phase));
      for (const double prior : {3.0, 10.0}) {
        for (const double image : {0.0, 0.5, 0.9}) {
          std::printf(", tv %g image %g: %.1f", prior, image,
                      Error(Iterated(gated, all, prior, image), phase));
          std::fflush(stdout);
        }
      }
      std::printf("\n");
    }
  }
}

}  // namespace
}  // namespace isocenter
