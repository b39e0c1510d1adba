// What orbits beyond the circle give, in Hounsfield units: noise-free scans of a pile of discs,
// which a circle sees worst because no plane through its faces meets a source, against the discs
// themselves. The cpu backend computes; iterations begin with nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/geometry/orbits/swept_orbit.h"
#include "kernels/phantom/composite_phantom.h"
#include "kernels/phantom/phantom.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/plan.h"

namespace isocenter {
namespace {

using Volume = std::vector<float>;

constexpr double kMuWater = 0.02;  // 1/mm
constexpr int kViews = 180;
constexpr double kDiscMm = 60, kPitchMm = 32;  // radius; from disc to disc, half of which is air

const Detector kDetector{.columns = 80, .rows = 80, .pitch_u_mm = 4, .pitch_v_mm = 4};
const VolumeGrid kGrid = CenteredGrid(44, 44, 48, {4, 4, 4});

const phantom::Phantom& Discs() {
  static const auto* const discs = [] {
    std::vector<phantom::Part> parts;
    for (int i = -2; i <= 2; ++i) {
      parts.push_back({phantom::Body(phantom::Body::Shape::kCylinder, {0, 0, i * kPitchMm},
                                     {kDiscMm, kDiscMm, kPitchMm / 4}),
                       kMuWater});
    }
    return new phantom::CompositePhantom(std::move(parts),
                                         phantom::CompositePhantom::Overlap::kAdd);
  }();
  return *discs;
}

Trajectory Orbit(SweepShape shape, double sweep_deg) {
  const double arc_deg = shape == SweepShape::kSaddle ? 360.0 * (kViews - 1) / kViews : 205;
  return *MakeSweptOrbit({.base = {.views = kViews,
                                   .source_to_isocenter_mm = 750,
                                   .source_to_detector_mm = 1200,
                                   .start_angle = DegreesToRadians(-100),
                                   .arc = DegreesToRadians(arc_deg)},
                          .shape = shape,
                          .sweep = DegreesToRadians(sweep_deg),
                          .periods = 2},
                         kDetector);
}

struct Scan {
  recon::Acquisition acquisition;
  Volume frames;

  ops::RawFrames view() const {
    return {.line_integrals = {frames.data(), {kViews, kDetector.rows, kDetector.columns}}};
  }
};

Scan ScanOn(Trajectory trajectory) {
  Scan scan;
  scan.acquisition.detector = kDetector;
  scan.acquisition.pixel_type = recon::PixelType::kFloat32LineIntegrals;
  scan.acquisition.trajectory = std::move(trajectory);
  const Shape3 shape{kViews, kDetector.rows, kDetector.columns};
  scan.frames.resize(shape.count());
  ThreadPool pool(UsableCores());
  for (int view = 0; view < kViews; ++view) {
    phantom::ProjectView(Discs(), scan.acquisition.trajectory[view], kDetector, 2, pool,
                         HostView3<float>(scan.frames.data(), shape).slices(view, 1));
  }
  return scan;
}

// RMSE in HU within the discs' radius, less three voxels; the faces are in it.
double Error(const Volume& volume) {
  double squares = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < kGrid.voxels(); ++i) {
    const Vec3 at = kGrid.VoxelToWorld(double(i % kGrid.nx), double(i / kGrid.nx % kGrid.ny),
                                       double(i / (int64_t{kGrid.nx} * kGrid.ny)));
    if (std::hypot(at.x, at.y) > kDiscMm - 3 * kGrid.spacing.x) continue;
    if (std::abs(at.z) > 2.5 * kPitchMm) continue;
    const double off = volume[i] - 1000 * (Discs().Attenuation(at) / kMuWater - 1);
    squares += off * off;
    ++counted;
  }
  return std::sqrt(squares / double(counted));
}

double Iterated(SweepShape shape, double sweep_deg, int passes) {
  const Scan scan = ScanOn(Orbit(shape, sweep_deg));
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  const auto plan =
      recon::MakeRefinementPlan(scan.acquisition, kGrid, {.mu_water_per_mm = kMuWater},
                                {.algorithm = recon::Algorithm::kOsSart,
                                 .iterations = passes,
                                 .momentum = 0.5,
                                 .warm_start = false},
                                Backends(), devices);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  const auto reports =
      recon::RefineAll(*plan, Backends(), devices, scan.view(), {volume.data(), kGrid.shape()});
  EXPECT_TRUE(reports.ok()) << reports.status();
  const double error = Error(volume);
  std::printf("orbit %d of %.0f deg, %d passes: %.1f HU\n", static_cast<int>(shape), sweep_deg,
              passes, error);
  std::fflush(stdout);
  return error;
}

// A source that leaves the plane meets the planes of the faces, which that of a circle does not.
TEST(OrbitAccuracy, SinesAndSaddlesSeeWhatCirclesDoNot) {
  EXPECT_LT(Iterated(SweepShape::kSine, 15, 10), 0.7 * Iterated(SweepShape::kSine, 0, 10));
  EXPECT_LT(Iterated(SweepShape::kSaddle, 15, 10), 0.7 * Iterated(SweepShape::kSaddle, 0, 10));
}

// Two arcs beside the plane see none of the faces between them: these orbits are taken, and are
// worse than the circle for such an object.
TEST(OrbitAccuracy, TiltedSweepsAndTwoArcsAreTaken) {
  EXPECT_LT(Iterated(SweepShape::kTilted, 15, 10), 40);
  EXPECT_LT(Iterated(SweepShape::kTwoArcs, 15, 10), 175);
}

}  // namespace
}  // namespace isocenter
