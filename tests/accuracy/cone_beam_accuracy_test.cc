// What a circle leaves of the cone-beam artefact, and a second pass of that, in Hounsfield units:
// noise-free scans of 200 degrees against the phantoms themselves, away from their edges. The cpu
// backend computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/phantom/composite_phantom.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/second_pass.h"

namespace isocenter {
namespace {

using phantom::Body;
using Volume = std::vector<float>;

constexpr double kMuWater = 0.02;  // 1/mm
constexpr int kViews = 360;
// All of the head between its ears and its crown is on the detector, not all of its height.
constexpr Detector kDetector{.columns = 248, .rows = 192, .pitch_u_mm = 1.54, .pitch_v_mm = 1.54};
constexpr Shape3 kFrames{kViews, kDetector.rows, kDetector.columns};
const VolumeGrid kGrid = CenteredGrid(128, 128, 80, {1.8, 1.8, 1.8});
constexpr double kRadius = 60;   // mm, of the sphere that is looked at
constexpr double kEdgeMm = 3.6;  // what is nearer to an edge of the phantom is left out
constexpr double kNoise = 0.03;  // of a line integral

recon::Acquisition Scan() {
  recon::Acquisition scan{.detector = kDetector,
                          .pixel_type = recon::PixelType::kFloat32LineIntegrals};
  scan.trajectory = *MakeCircularOrbit({.views = kViews,
                                        .source_to_isocenter_mm = 750,
                                        .source_to_detector_mm = 1200,
                                        .start_angle = DegreesToRadians(-100),
                                        .arc = DegreesToRadians(200)},
                                       kDetector);
  return scan;
}

// On which no threshold or width of the second pass was chosen: a spine with discs, a sternum, ribs
// and lungs that end.
std::unique_ptr<phantom::Phantom> Thorax() {
  std::vector<phantom::Part> parts;
  const auto add = [&](Body::Shape shape, Vec3 center, Vec3 half, double hu) {
    parts.push_back({Body(shape, center, half), (1 + hu / 1000) * kMuWater});
  };
  add(Body::Shape::kCylinder, {0, 0, 0}, {105, 72, 150}, 40);
  add(Body::Shape::kEllipsoid, {-48, -4, 10}, {36, 48, 75}, -750);
  add(Body::Shape::kEllipsoid, {48, -4, 10}, {36, 48, 75}, -750);
  for (int k = -5; k <= 5; ++k) {
    add(Body::Shape::kCylinder, {0, 46, 24.0 * k}, {12, 11, 9}, 500);
    add(Body::Shape::kEllipsoid, {90, -6, 20.0 * k + 4}, {5, 24, 5}, 800);
    add(Body::Shape::kEllipsoid, {-90, -6, 20.0 * k - 4}, {5, 24, 5}, 800);
  }
  return std::make_unique<phantom::CompositePhantom>(std::move(parts),
                                                     phantom::CompositePhantom::Overlap::kReplace);
}

Volume FramesOf(const phantom::Phantom& phantom, const recon::Acquisition& scan) {
  Volume frames(kFrames.count());
  ThreadPool pool(UsableCores());
  for (int view = 0; view < kViews; ++view) {
    phantom::ProjectView(phantom, scan.trajectory[view], kDetector, 2, pool,
                         HostView3<float>(frames.data(), kFrames).slices(view, 1));
  }
  return frames;
}

struct Volumes {
  Volume first, second;
};

Volumes Reconstruct(const recon::Acquisition& scan, const Volume& frames) {
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  const ops::RawFrames raw{.line_integrals = {frames.data(), kFrames}};
  const auto plan = recon::MakeSecondPassPlan(scan, kGrid, {.mu_water_per_mm = kMuWater},
                                              {.cone_beam = true}, Backends(), devices);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volumes made{Volume(kGrid.voxels()), Volume(kGrid.voxels())};
  const auto done = recon::ReconstructAll(*plan->warm_start, Backends(), *device, raw,
                                          {made.first.data(), kGrid.shape()});
  EXPECT_TRUE(done.ok()) << done.status();
  const absl::Status status = recon::ReconstructTwice(*plan, Backends(), devices, raw,
                                                      {made.second.data(), kGrid.shape()});
  EXPECT_TRUE(status.ok()) << status;
  return made;
}

Vec3 CenterOf(int64_t voxel) {
  return kGrid.VoxelToWorld(double(voxel % kGrid.nx), double(voxel / kGrid.nx % kGrid.ny),
                            double(voxel / (int64_t{kGrid.nx} * kGrid.ny)));
}

/// Of the sphere, those around which the phantom is the same in 26 directions.
std::vector<int64_t> AwayFromEdges(const phantom::Phantom& phantom) {
  std::vector<int64_t> voxels;
  for (int64_t i = 0; i < kGrid.voxels(); ++i) {
    const Vec3 at = CenterOf(i);
    if (Norm(at) > kRadius) continue;
    const double here = phantom.Attenuation(at);
    bool same = true;
    for (int n = 0; n < 27 && same; ++n) {
      const Vec3 way{double(n % 3 - 1), double(n / 3 % 3 - 1), double(n / 9 - 1)};
      same = n == 13 || phantom.Attenuation(at + (kEdgeMm / Norm(way)) * way) == here;
    }
    if (same) voxels.push_back(i);
  }
  return voxels;
}

struct Error {
  double sphere = 0, slab = 0;  // RMSE, HU: all of the voxels, and those within 4 mm of the plane
};

Error Compare(const Volume& volume, const phantom::Phantom& phantom,
              const std::vector<int64_t>& voxels) {
  double all = 0, in_slab = 0, slab = 0;
  for (const int64_t i : voxels) {
    const Vec3 at = CenterOf(i);
    const double off = volume[i] - 1000 * (phantom.Attenuation(at) / kMuWater - 1);
    all += off * off;
    if (std::abs(at.z) > 4) continue;
    in_slab += off * off;
    slab += 1;
  }
  return {std::sqrt(all / double(voxels.size())), std::sqrt(in_slab / slab)};
}

struct Errors {
  Error first, second;
};

Errors Measure(const std::string& name, const phantom::Phantom& phantom) {
  const recon::Acquisition scan = Scan();
  const Volumes made = Reconstruct(scan, FramesOf(phantom, scan));
  const std::vector<int64_t> voxels = AwayFromEdges(phantom);
  if (std::getenv("CONE_DUMP")) {
    Volume truth(kGrid.voxels());
    std::vector<float> mask(kGrid.voxels(), 0);
    for (int64_t i = 0; i < kGrid.voxels(); ++i) truth[i] = 1000 * (phantom.Attenuation(CenterOf(i)) / kMuWater - 1);
    for (int64_t i : voxels) mask[i] = 1;
    for (const auto& [what, v] : {std::pair<const char*, const Volume*>("first", &made.first), {"second", &made.second}, {"truth", &truth}, {"mask", &mask}}) {
      std::FILE* f = std::fopen(("/tmp/cone/" + name + "_" + what + ".raw").c_str(), "wb");
      std::fwrite(v->data(), 4, v->size(), f);
      std::fclose(f);
    }
  }
  const Errors errors{Compare(made.first, phantom, voxels), Compare(made.second, phantom, voxels)};
  std::printf("%s: sphere %.2f HU before, %.2f after (%.2f of it); central slab %.2f, %.2f\n",
              name.c_str(), errors.first.sphere, errors.second.sphere,
              errors.second.sphere / errors.first.sphere, errors.first.slab, errors.second.slab);
  return errors;
}

TEST(ConeBeamAccuracy, OfAHead) {
  const auto head = *phantom::MakePhantom("head", 128, kMuWater);
  const Errors errors = Measure("head", *head);
  EXPECT_GT(errors.first.sphere, 8);
  EXPECT_LT(errors.second.sphere, 0.4 * errors.first.sphere);
  EXPECT_LT(errors.second.slab, errors.first.slab + 0.8);
}

TEST(ConeBeamAccuracy, OfOthers) {
  const auto shepp_logan = *phantom::MakePhantom("shepp-logan", 128, kMuWater);
  const Errors errors = Measure("shepp-logan", *shepp_logan);
  EXPECT_LT(errors.second.sphere, 0.55 * errors.first.sphere);
  EXPECT_LT(errors.second.slab, errors.first.slab + 1.2);
  const Errors thorax = Measure("thorax", *Thorax());
  EXPECT_LT(thorax.second.sphere, 0.77 * thorax.first.sphere);
  EXPECT_LT(thorax.second.slab, thorax.first.slab + 0.5);
}

// A cylinder along the axis has no artefact: what is left is what voxels make of its edge.
TEST(ConeBeamAccuracy, OfWhatHasNone) {
  const auto cylinder = *phantom::MakePhantom("cylinder", 100, kMuWater);
  const Errors errors = Measure("cylinder", *cylinder);
  EXPECT_LT(errors.second.sphere, 0.7);
  EXPECT_LT(errors.second.slab, 0.8);
}

double Deviation(const Volume& noisy, const Volume& clean, const std::vector<int64_t>& voxels) {
  double sum = 0, squares = 0;
  for (const int64_t i : voxels) {
    const double noise = noisy[i] - clean[i];
    sum += noise;
    squares += noise * noise;
  }
  const double n = double(voxels.size());
  return std::sqrt(squares / n - sum / n * (sum / n));
}

// From the brain through the skull: where its inner edge is half as bright as its peak, over the
// steepest slope per mm, is how wide it is.
double EdgeMm(const Volume& volume) {
  const int y = kGrid.ny / 2, z = kGrid.nz / 2;
  const float* const row = &volume[(int64_t{z} * kGrid.ny + y) * kGrid.nx];
  float steepest = 0, peak = 0;
  for (int x = kGrid.nx / 2 + 20; x + 1 < kGrid.nx; ++x) {
    steepest = std::max(steepest, row[x + 1] - row[x]);
    peak = std::max(peak, row[x]);
  }
  return peak / steepest * kGrid.spacing.x;
}

TEST(ConeBeamAccuracy, NoiseAndEdgesStayAsTheyAre) {
  const auto head = *phantom::MakePhantom("head", 128, kMuWater);
  const recon::Acquisition scan = Scan();
  const Volume frames = FramesOf(*head, scan);
  Volume noisy = frames;
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, kNoise);
  for (float& p : noisy) p += noise(random);
  const Volumes clean = Reconstruct(scan, frames), with_noise = Reconstruct(scan, noisy);
  const std::vector<int64_t> voxels = AwayFromEdges(*head);
  const double before = Deviation(with_noise.first, clean.first, voxels);
  const double after = Deviation(with_noise.second, clean.second, voxels);
  const Error first = Compare(clean.first, *head, voxels);
  const Error corrected = Compare(clean.second, *head, voxels);
  const double edge = EdgeMm(clean.first), edge_after = EdgeMm(clean.second);
  std::printf("noise %.2f HU before, %.2f after; edge of the skull %.3f mm, %.3f\n", before, after,
              edge, edge_after);
  EXPECT_GT(before, 20) << "too little noise to tell anything";
  EXPECT_LT(after, 1.03 * before);
  EXPECT_NEAR(edge_after, edge, 0.03 * edge);
  EXPECT_LT(corrected.sphere, first.sphere);
}

}  // namespace
}  // namespace isocenter
