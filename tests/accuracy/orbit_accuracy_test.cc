// What orbits beyond the circle give, in Hounsfield units: noise-free scans of a head against the
// phantom itself in the sphere of 60 mm, away from its edges. The cpu backend computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/geometry/orbits/swept_orbit.h"
#include "kernels/phantom/phantom.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter {
namespace {

using Volume = std::vector<float>;

constexpr double kMuWater = 0.02;  // 1/mm
constexpr double kRadiusMm = 60;

const Detector kDetector{.columns = 124, .rows = 96, .pitch_u_mm = 3.08, .pitch_v_mm = 3.08};
const VolumeGrid kGrid = CenteredGrid(64, 64, 64, {3.6, 3.6, 3.6});
constexpr int kViews = 240;

SweptOrbit Orbit(SweepShape shape, double sweep_deg) {
  const double arc_deg = shape == SweepShape::kSaddle ? 360.0 * (kViews - 1) / kViews : 200;
  return {.base = {.views = kViews,
                   .source_to_isocenter_mm = 750,
                   .source_to_detector_mm = 1200,
                   .start_angle = DegreesToRadians(-100),
                   .arc = DegreesToRadians(arc_deg)},
          .shape = shape,
          .sweep = DegreesToRadians(sweep_deg),
          .periods = 2};
}

const phantom::Phantom& Head() {
  static const auto* const head = phantom::MakePhantom("head", 90, kMuWater)->release();
  return *head;
}

struct Scan {
  recon::Acquisition acquisition;
  Volume frames;

  ops::RawFrames view() const {
    return {.line_integrals = {frames.data(), {kViews, kDetector.rows, kDetector.columns}}};
  }
};

Scan ScanOn(const SweptOrbit& orbit) {
  Scan scan;
  scan.acquisition.detector = kDetector;
  scan.acquisition.pixel_type = recon::PixelType::kFloat32LineIntegrals;
  scan.acquisition.trajectory = *MakeSweptOrbit(orbit, kDetector);
  const Shape3 shape{kViews, kDetector.rows, kDetector.columns};
  scan.frames.resize(shape.count());
  ThreadPool pool(UsableCores());
  for (int view = 0; view < kViews; ++view) {
    phantom::ProjectView(Head(), scan.acquisition.trajectory[view], kDetector, 2, pool,
                         HostView3<float>(scan.frames.data(), shape).slices(view, 1));
  }
  return scan;
}

// RMSE in HU of the voxels of the sphere around which the head is the same for two voxels.
double Error(const Volume& volume) {
  const double edge_mm = 2 * kGrid.spacing.x;
  double squares = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < kGrid.voxels(); ++i) {
    const Vec3 at = kGrid.VoxelToWorld(double(i % kGrid.nx), double(i / kGrid.nx % kGrid.ny),
                                       double(i / (int64_t{kGrid.nx} * kGrid.ny)));
    if (Norm(at) > kRadiusMm) continue;
    const double here = Head().Attenuation(at);
    bool same = true;
    for (int n = 0; n < 27 && same; ++n) {
      const Vec3 way{double(n % 3 - 1), double(n / 3 % 3 - 1), double(n / 9 - 1)};
      same = n == 13 || Head().Attenuation(at + (edge_mm / Norm(way)) * way) == here;
    }
    if (!same) continue;
    const double off = volume[i] - 1000 * (here / kMuWater - 1);
    squares += off * off;
    ++counted;
  }
  return std::sqrt(squares / double(counted));
}

struct Errors {
  double fdk = 0, iterated = 0;  // HU
};

Errors Measure(const std::string& name, const SweptOrbit& orbit, int iterations) {
  const Scan scan = ScanOn(orbit);
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  const recon::FdkSettings fdk{.mu_water_per_mm = kMuWater};
  const auto plan =
      recon::MakePlan(scan.acquisition, kGrid, fdk, Backends(), *device, recon::Arrival::kComplete);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Errors errors;
  Volume volume(kGrid.voxels());
  const HostView3<float> voxels(volume.data(), kGrid.shape());
  const auto done = recon::ReconstructAll(*plan, Backends(), *device, scan.view(), voxels);
  EXPECT_TRUE(done.ok()) << done.status();
  errors.fdk = Error(volume);
  const recon::IterativeSettings settings{
      .algorithm = recon::Algorithm::kOsSart, .iterations = iterations, .momentum = 0.5};
  const auto refinement =
      recon::MakeRefinementPlan(scan.acquisition, kGrid, fdk, settings, Backends(), devices);
  EXPECT_TRUE(refinement.ok()) << refinement.status();
  const auto reports = recon::RefineAll(*refinement, Backends(), devices, scan.view(), voxels);
  EXPECT_TRUE(reports.ok()) << reports.status();
  errors.iterated = Error(volume);
  std::printf("%s: filtered back-projection %.2f HU, after %d passes %.2f\n", name.c_str(),
              errors.fdk, iterations, errors.iterated);
  return errors;
}

TEST(OrbitAccuracy, Explore) {
  for (const int passes : {10, 30}) {
    Measure("circle", Orbit(SweepShape::kSine, 0), passes);
    Measure("sine 10", Orbit(SweepShape::kSine, 10), passes);
    Measure("sine 15", Orbit(SweepShape::kSine, 15), passes);
    Measure("tilted 10", Orbit(SweepShape::kTilted, 10), passes);
    Measure("saddle 10", Orbit(SweepShape::kSaddle, 10), passes);
    Measure("turn", Orbit(SweepShape::kSaddle, 0), passes);
  }
}

}  // namespace
}  // namespace isocenter
