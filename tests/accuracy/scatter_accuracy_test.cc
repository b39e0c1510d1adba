// What scatter leaves in a volume, and what a second pass with the computed scatter leaves of that,
// in HU against the same scan without scatter. The scatter comes from the simulator's Monte Carlo,
// which shares no formula with the correction. The cpu backend computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/calibrate/scatter/scatter_model_fit.h"
#include "kernels/cpu/register.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/compute_scatter.h"
#include "kernels/recon/second_pass/second_pass.h"
#include "tests/accuracy/scattered_scan.h"

namespace isocenter {
namespace {

using Shape = phantom::Body::Shape;
using Volume = std::vector<float>;

constexpr int kViews = 120;
// As 700 x 400 pixels of 0.77 mm.
const Detector kDetector{.columns = 176, .rows = 100, .pitch_u_mm = 3.08, .pitch_v_mm = 3.08};
const VolumeGrid kGrid = CenteredGrid(96, 96, 17, {3.4, 3.4, 3.4});

const ops::Registry& Backends() {
  static const ops::Registry* const registry = [] {
    auto* made = new ops::Registry;
    cpu::Register(*made);
    return made;
  }();
  return *registry;
}

ops::RawFrames FramesOf(const std::vector<uint16_t>& counts) {
  return {.counts = {counts.data(), {kViews, kDetector.rows, kDetector.columns}}};
}

HuBody Cylinder(Vec3 center, Vec3 half_axes, double hu) {
  return {phantom::Body(Shape::kCylinder, center, half_axes), hu};
}

std::vector<HuBody> Abdomen() {
  return {Cylinder({}, {150, 105, 50}, 0), Cylinder({0, 70, 0}, {22, 20, 50}, 600),
          Cylinder({-70, -20, 0}, {55, 45, 50}, 60), Cylinder({20, 25, 0}, {12, 12, 50}, 150),
          Cylinder({40, -75, 0}, {60, 8, 50}, -100)};
}

std::vector<HuBody> Head() {
  const auto ellipsoid = [](Vec3 center, Vec3 half, double hu) {
    return HuBody{phantom::Body(Shape::kEllipsoid, center, half), hu};
  };
  return {ellipsoid({}, {75, 95, 90}, 900), ellipsoid({}, {68, 88, 83}, 35),
          ellipsoid({-15, 0, 10}, {8, 22, 12}, 5), ellipsoid({15, 0, 10}, {8, 22, 12}, 5),
          Cylinder({0, 0, -100}, {55, 60, 40}, 30)};
}

struct Region {
  double x, y, radius;
};

Volume Once(const ScatteredScan& scan, const std::vector<uint16_t>& counts) {
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan = recon::MakePlan(scan.acquisition(), kGrid, {}, Backends(), *device,
                                    recon::Arrival::kComplete);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  const auto done = recon::ReconstructAll(*plan, Backends(), *device, FramesOf(counts),
                                          {volume.data(), kGrid.shape()});
  EXPECT_TRUE(done.ok()) << done.status();
  return volume;
}

Volume Twice(const ScatteredScan& scan, const std::vector<uint16_t>& counts) {
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  const auto plan = recon::MakeSecondPassPlan(scan.acquisition(), kGrid, {}, {.scatter = true},
                                              Backends(), devices);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  std::vector<std::string> findings;
  const absl::Status status = recon::ReconstructTwice(
      *plan, Backends(), devices, FramesOf(counts), {volume.data(), kGrid.shape()}, {}, &findings);
  EXPECT_TRUE(status.ok()) << status;
  for (const std::string& finding : findings) std::printf("  %s\n", finding.c_str());
  return volume;
}

double MeanIn(const Volume& volume, const Region& region) {
  double sum = 0, count = 0;
  for (int k = 4; k < kGrid.nz - 4; ++k) {
    for (int j = 0; j < kGrid.ny; ++j) {
      for (int i = 0; i < kGrid.nx; ++i) {
        const Vec3 at = kGrid.VoxelToWorld(i, j, k);
        if (std::hypot(at.x - region.x, at.y - region.y) > region.radius) continue;
        sum += volume[(int64_t{k} * kGrid.ny + j) * kGrid.nx + i];
        ++count;
      }
    }
  }
  return sum / count;
}

struct Errors {
  double mean = 0, range = 0;
};

Errors ErrorsOf(const char* what, const Volume& volume, const Volume& truth,
                const std::vector<Region>& regions) {
  Errors errors;
  double least = 1e9, most = -1e9;
  std::printf("  %-18s", what);
  for (const Region& region : regions) {
    const double error = MeanIn(volume, region) - MeanIn(truth, region);
    std::printf(" %7.1f", error);
    errors.mean += error / static_cast<double>(regions.size());
    least = std::min(least, error);
    most = std::max(most, error);
  }
  errors.range = most - least;
  std::printf("   mean %.1f, range %.1f HU\n", errors.mean, errors.range);
  return errors;
}

Errors AfterSecondPass(const char* name, const ScatteredScan& scan,
                       const std::vector<HuBody>& bodies, const std::vector<Region>& regions,
                       double photons = 0) {
  const ScatteredCounts counts = scan.Counts(bodies, photons);
  std::printf("%s: scatter up to %.2f of the primary%s\n", name, counts.most_ratio,
              photons > 0 ? ", with noise" : "");
  const Volume truth = Once(scan, counts.primary);
  const Errors before = ErrorsOf("not corrected", Once(scan, counts.scattered), truth, regions);
  const Errors after = ErrorsOf("second pass", Twice(scan, counts.scattered), truth, regions);
  std::fflush(stdout);
  EXPECT_LT(std::abs(after.mean), std::abs(before.mean) / 5) << name;
  EXPECT_LT(after.range, before.range / 3) << name;
  return after;
}

// The scale of the model, from a cylinder of water that is longer than the beam: flat ends in it
// are blurred by a circular orbit, and scatter as they are.
double MeasuredScale(ScatteredScan& scan) {
  scan.SetScale(1);
  const ScatteredCounts counts = scan.Counts({Cylinder({}, {110, 110, 150}, 0)});
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  const auto plan = recon::MakeSecondPassPlan(scan.acquisition(), kGrid, {}, {.scatter = true},
                                              Backends(), devices);
  EXPECT_TRUE(plan.ok()) << plan.status();
  const auto computed = recon::ComputeScatter(*plan, Backends(), devices, FramesOf(counts.primary));
  EXPECT_TRUE(computed.ok()) << computed.status();
  std::printf("beam:");
  for (size_t k = 0; k < plan->scatter->beam.kev.size(); ++k) {
    if (plan->scatter->beam.share[k] > 0.005) {
      std::printf(" %g keV %.3f", plan->scatter->beam.kev[k], plan->scatter->beam.share[k]);
    }
  }
  std::printf("\n  %s\n", recon::ToText(computed->findings).c_str());
  std::vector<calibrate::ModelledView> views(plan->scatter->sampled.size());
  const int columns = plan->scatter->columns, rows = plan->scatter->rows;
  const double i0 = scan.acquisition().i0_counts;
  for (size_t k = 0; k < views.size(); ++k) {
    calibrate::ModelledView& view = views[k];
    view.model = computed->cells[k];
    view.primary.assign(view.model.size(), 0);
    view.scatter.assign(view.model.size(), 0);
    std::vector<double> pixels(view.model.size());
    for (int v = 0; v < kDetector.rows; ++v) {
      for (int u = 0; u < kDetector.columns; ++u) {
        const size_t cell = v * rows / kDetector.rows * columns + u * columns / kDetector.columns;
        const size_t at =
            (size_t(plan->scatter->sampled[k]) * kDetector.rows + v) * kDetector.columns + u;
        view.primary[cell] += counts.primary[at] / i0;
        view.scatter[cell] += (double(counts.scattered[at]) - counts.primary[at]) / i0;
        pixels[cell] += 1;
      }
    }
    for (size_t i = 0; i < pixels.size(); ++i) {
      view.primary[i] /= pixels[i];
      view.scatter[i] /= pixels[i];
    }
  }
  const auto fit = calibrate::FitScatterModel(views);
  EXPECT_TRUE(fit.ok()) << fit.status();
  if (!fit.ok()) return 1;
  for (const auto& figure : fit->figures) {
    std::printf("  %s: %.3g %s\n", figure.name.c_str(), figure.value, figure.unit.c_str());
  }
  return fit->model.scale;
}

TEST(ScatterAccuracy, SecondPassOfHeadAndAbdomen) {
  ScatteredScan scan(kDetector, kViews, 120);
  const double scale = MeasuredScale(scan);
  EXPECT_NEAR(scale, 1, 0.05);  // there is no grid, and the screen answers to all directions alike
  scan.SetScale(scale);
  std::fflush(stdout);
  const Errors head = AfterSecondPass(
      "head", scan, Head(), {{0, 0, 10}, {0, -45, 12}, {0, 45, 12}, {40, 0, 12}, {-40, 0, 12}});
  const std::vector<Region> abdominal = {
      {0, -10, 12}, {-70, -20, 25}, {90, 0, 20}, {-110, 40, 15}, {45, 65, 12}};
  const Errors abdomen = AfterSecondPass("abdomen", scan, Abdomen(), abdominal);
  const Errors noisy = AfterSecondPass("abdomen", scan, Abdomen(), abdominal, 600000);
  for (const Errors& errors : {head, abdomen, noisy}) EXPECT_LT(std::abs(errors.mean), 20);
}

}  // namespace
}  // namespace isocenter
