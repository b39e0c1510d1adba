// What a circle leaves of the cone-beam artefact, and a second pass of that, in Hounsfield units:
// noise-free scans of 200 degrees against the phantoms themselves, away from their edges. The cpu
// backend computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
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
constexpr double kNoise = 0.03;    // of a line integral

struct Trial {
  int views = 360;
  double arc_deg = 200;
  double wobble = 0;  // of the arm; 1 is a typical one
  double offset_u_px = 0;
  // All of the head between its ears and its crown is on the detector, not all of its height.
  Detector detector{.columns = 248, .rows = 192, .pitch_u_mm = 1.54, .pitch_v_mm = 1.54};
  ops::Truncation truncation = ops::Truncation::kNone;
  // Higher than the sphere that is looked at by what rays through it reach.
  VolumeGrid grid = CenteredGrid(128, 128, 104, {1.8, 1.8, 1.8});
  double radius = 60;  // mm, of the sphere; what is nearer than two voxels to an edge is left out
  bool metal = false;  // is corrected first
};

recon::Acquisition Scan(const Trial& trial) {
  recon::Acquisition scan{.detector = trial.detector,
                          .pixel_type = recon::PixelType::kFloat32LineIntegrals};
  const CircularOrbit orbit{.views = trial.views,
                            .source_to_isocenter_mm = 750,
                            .source_to_detector_mm = 1200,
                            .start_angle = DegreesToRadians(-100),
                            .arc = DegreesToRadians(trial.arc_deg),
                            .offset_u_px = trial.offset_u_px};
  scan.trajectory = *MakeWobblingOrbit(orbit, trial.detector, trial.wobble, 3);
  return scan;
}

Shape3 FramesShape(const Trial& trial) {
  return {trial.views, trial.detector.rows, trial.detector.columns};
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

Volume FramesOf(const phantom::Phantom& phantom, const Trial& trial) {
  const Shape3 shape = FramesShape(trial);
  const recon::Acquisition scan = Scan(trial);
  Volume frames(shape.count());
  ThreadPool pool(UsableCores());
  for (int view = 0; view < trial.views; ++view) {
    phantom::ProjectView(phantom, scan.trajectory[view], trial.detector, 2, pool,
                         HostView3<float>(frames.data(), shape).slices(view, 1));
  }
  return frames;
}

struct Volumes {
  Volume first, second;
};

// Metal, where it is corrected, is so in both.
Volumes Reconstruct(const Trial& trial, const Volume& frames) {
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  const ops::RawFrames raw{.line_integrals = {frames.data(), FramesShape(trial)}};
  const recon::FdkSettings fdk{.truncation = trial.truncation, .mu_water_per_mm = kMuWater};
  recon::SecondPassSettings settings{.cone_beam = true};
  if (trial.metal) settings.metal.emplace();
  const auto plan =
      recon::MakeSecondPassPlan(Scan(trial), trial.grid, fdk, settings, Backends(), devices);
  EXPECT_TRUE(plan.ok()) << plan.status();
  const int64_t voxels = trial.grid.voxels();
  Volumes made{Volume(voxels), Volume(voxels)};
  const HostView3<float> first(made.first.data(), trial.grid.shape());
  if (trial.metal) {
    settings.cone_beam = false;
    const auto without =
        recon::MakeSecondPassPlan(Scan(trial), trial.grid, fdk, settings, Backends(), devices);
    EXPECT_TRUE(without.ok()) << without.status();
    const absl::Status status = recon::ReconstructTwice(*without, Backends(), devices, raw, first);
    EXPECT_TRUE(status.ok()) << status;
  } else {
    const auto done = recon::ReconstructAll(*plan->warm_start, Backends(), *device, raw, first);
    EXPECT_TRUE(done.ok()) << done.status();
  }
  const absl::Status status = recon::ReconstructTwice(*plan, Backends(), devices, raw,
                                                      {made.second.data(), trial.grid.shape()});
  EXPECT_TRUE(status.ok()) << status;
  return made;
}

Vec3 CenterOf(const VolumeGrid& grid, int64_t voxel) {
  return grid.VoxelToWorld(double(voxel % grid.nx), double(voxel / grid.nx % grid.ny),
                           double(voxel / (int64_t{grid.nx} * grid.ny)));
}

/// Of the sphere, those around which the phantom is the same in 26 directions, and not metal.
std::vector<int64_t> AwayFromEdges(const phantom::Phantom& phantom, const Trial& trial) {
  const double edge_mm = 2 * trial.grid.spacing.x;
  std::vector<int64_t> voxels;
  for (int64_t i = 0; i < trial.grid.voxels(); ++i) {
    const Vec3 at = CenterOf(trial.grid, i);
    const double here = phantom.Attenuation(at);
    if (Norm(at) > trial.radius || here > 3 * kMuWater) continue;
    bool same = true;
    for (int n = 0; n < 27 && same; ++n) {
      const Vec3 way{double(n % 3 - 1), double(n / 3 % 3 - 1), double(n / 9 - 1)};
      same = n == 13 || phantom.Attenuation(at + (edge_mm / Norm(way)) * way) == here;
    }
    if (same) voxels.push_back(i);
  }
  return voxels;
}

struct Error {
  double sphere = 0, slab = 0;  // RMSE, HU: all of the voxels, and those within 4 mm of the plane
  std::vector<double> slices;   // RMSE; 0 where there are less than 50 voxels
};

Error Compare(const Volume& volume, const phantom::Phantom& phantom, const VolumeGrid& grid,
              const std::vector<int64_t>& voxels) {
  double all = 0, in_slab = 0, slab = 0;
  std::vector<double> squares(grid.nz), counted(grid.nz);
  for (const int64_t i : voxels) {
    const Vec3 at = CenterOf(grid, i);
    const double off = volume[i] - 1000 * (phantom.Attenuation(at) / kMuWater - 1);
    all += off * off;
    const int64_t z = i / (int64_t{grid.nx} * grid.ny);
    squares[z] += off * off;
    counted[z] += 1;
    if (std::abs(at.z) > 4) continue;
    in_slab += off * off;
    slab += 1;
  }
  Error error{std::sqrt(all / double(voxels.size())), slab > 0 ? std::sqrt(in_slab / slab) : 0, {}};
  for (int z = 0; z < grid.nz; ++z) {
    error.slices.push_back(counted[z] < 50 ? 0 : std::sqrt(squares[z] / counted[z]));
  }
  return error;
}

struct Errors {
  Error first, second;
  double worst = 0;  // by how much the RMSE of a slice rises at most
};

Errors Measure(const std::string& name, const phantom::Phantom& phantom, const Trial& trial,
               const Volume& frames) {
  const Volumes made = Reconstruct(trial, frames);
  const std::vector<int64_t> voxels = AwayFromEdges(phantom, trial);
  Errors errors{Compare(made.first, phantom, trial.grid, voxels),
                Compare(made.second, phantom, trial.grid, voxels)};
  errors.worst = -1e9;
  for (int z = 0; z < trial.grid.nz; ++z) {
    if (errors.first.slices[z] == 0) continue;
    errors.worst = std::max(errors.worst, errors.second.slices[z] - errors.first.slices[z]);
  }
  std::printf(
      "%s: sphere %.2f HU before, %.2f after (%.2f of it); central slab %.2f, %.2f; a slice rises "
      "by %.2f at most\n",
      name.c_str(), errors.first.sphere, errors.second.sphere,
      errors.second.sphere / errors.first.sphere, errors.first.slab, errors.second.slab,
      errors.worst);
  return errors;
}

Errors Measure(const std::string& name, const phantom::Phantom& phantom) {
  return Measure(name, phantom, {}, FramesOf(phantom, {}));
}

TEST(ConeBeamAccuracy, OfAHead) {
  const auto head = *phantom::MakePhantom("head", 128, kMuWater);
  const Errors errors = Measure("head", *head);
  EXPECT_GT(errors.first.sphere, 8);
  EXPECT_LT(errors.second.sphere, 0.36 * errors.first.sphere);
  EXPECT_LT(errors.second.slab, errors.first.slab + 0.1);
  EXPECT_LT(errors.worst, 0.5);
}

TEST(ConeBeamAccuracy, OfOthers) {
  const auto shepp_logan = *phantom::MakePhantom("shepp-logan", 128, kMuWater);
  const Errors errors = Measure("shepp-logan", *shepp_logan);
  EXPECT_LT(errors.second.sphere, 0.45 * errors.first.sphere);
  EXPECT_LT(errors.second.slab, errors.first.slab + 0.1);
  EXPECT_LT(errors.worst, 0.6);
  // What is left is mostly no cone-beam artefact: the central slab has it, too.
  const Errors thorax = Measure("thorax", *Thorax());
  EXPECT_LT(thorax.second.sphere, 0.75 * thorax.first.sphere);
  EXPECT_LT(thorax.second.slab, thorax.first.slab + 0.1);
  EXPECT_LT(thorax.worst, 0.5);
}

// A cylinder along the axis has no artefact, and nothing is taken off.
TEST(ConeBeamAccuracy, OfWhatHasNone) {
  const auto cylinder = *phantom::MakePhantom("cylinder", 100, kMuWater);
  const Errors errors = Measure("cylinder", *cylinder);
  EXPECT_LT(errors.second.sphere, errors.first.sphere + 0.02);
  EXPECT_LT(errors.worst, 0.05);
}

// Quarter of the pixels, eighth of the voxels: many scans in little time.
Trial Coarse() {
  Trial trial;
  trial.detector = {.columns = 124, .rows = 96, .pitch_u_mm = 3.08, .pitch_v_mm = 3.08};
  trial.grid = CenteredGrid(64, 64, 52, {3.6, 3.6, 3.6});
  return trial;
}

struct Kind {
  const char* name;
  Trial trial;
  double most;  // of the error of before
};

std::vector<Kind> Kinds() {
  constexpr double kFullTurn = 360.0 * 359 / 360;
  std::vector<Kind> kinds;
  const auto add = [&](const char* name, double most) -> Trial& {
    kinds.push_back({name, Coarse(), most});
    return kinds.back().trial;
  };
  add("arm that wobbles", 0.6).wobble = 1;
  add("full turn", 0.95).arc_deg = kFullTurn;
  Trial& displaced = add("displaced detector", 0.8);
  displaced.arc_deg = kFullTurn;
  displaced.detector.columns = 85;
  displaced.offset_u_px = 25;
  add("few detector rows", 1.01).detector.rows = 40;
  kinds.back().trial.radius = 25;
  add("flat grid", 1.01).grid = CenteredGrid(64, 64, 10, {3.6, 3.6, 3.6});
  Trial& above = add("grid above the orbit's plane", 1.01);
  above.grid = CenteredGrid(64, 64, 11, {3.6, 3.6, 3.6});
  above.grid.origin.z = 20;
  Trial& below = add("grid below the orbit's plane", 1.01);
  below.grid = CenteredGrid(64, 64, 11, {3.6, 3.6, 3.6});
  below.grid.origin.z = -58;
  return kinds;
}

TEST(ConeBeamAccuracy, NoKindOfScanGetsWorse) {
  const auto head = *phantom::MakePhantom("head", 128, kMuWater);
  for (const Kind& kind : Kinds()) {
    const Errors errors = Measure(kind.name, *head, kind.trial, FramesOf(*head, kind.trial));
    EXPECT_LT(errors.second.sphere, kind.most * errors.first.sphere) << kind.name;
    EXPECT_LT(errors.second.slab, errors.first.slab + 0.2) << kind.name;
    EXPECT_LT(errors.worst, 1.5) << kind.name;
  }
}

// Neither a detector nor a grid may cut the object sideways.
TEST(ConeBeamAccuracy, AnObjectThatGoesOnIsRefused) {
  const auto head = *phantom::MakePhantom("head", 128, kMuWater);
  Trial cut = Coarse(), narrow = Coarse();
  cut.detector.columns = 75;
  cut.truncation = ops::Truncation::kCylinder;
  narrow.grid = CenteredGrid(28, 28, 52, {3.6, 3.6, 3.6});
  for (const Trial& trial : {cut, narrow}) {
    const Volume frames = FramesOf(*head, trial);
    const auto device = *Backends().OpenDevice("cpu", {});
    ops::Device* const devices[] = {device.get()};
    const auto plan = recon::MakeSecondPassPlan(
        Scan(trial), trial.grid, {.truncation = trial.truncation, .mu_water_per_mm = kMuWater},
        {.cone_beam = true}, Backends(), devices);
    ASSERT_TRUE(plan.ok()) << plan.status();
    Volume volume(trial.grid.voxels());
    const absl::Status status = recon::ReconstructTwice(
        *plan, Backends(), devices, {.line_integrals = {frames.data(), FramesShape(trial)}},
        {volume.data(), trial.grid.shape()});
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("cone_beam: the object goes on"), std::string::npos) << status;
  }
}

/// Two phantoms in the same place.
class Both final : public phantom::Phantom {
 public:
  Both(std::unique_ptr<phantom::Phantom> one, std::unique_ptr<phantom::Phantom> other)
      : one_(std::move(one)), other_(std::move(other)) {}
  double Attenuation(Vec3 point) const override {
    return one_->Attenuation(point) + other_->Attenuation(point);
  }
  double LineIntegral(Vec3 source, Vec3 direction) const override {
    return one_->LineIntegral(source, direction) + other_->LineIntegral(source, direction);
  }
  phantom::Box Bounds() const override { return one_->Bounds(); }  // `other` is in `one`
  std::unique_ptr<phantom::Phantom> Mapped(
      const std::function<double(double)>& map) const override {
    return std::make_unique<Both>(one_->Mapped(map), other_->Mapped(map));
  }

 private:
  const std::unique_ptr<phantom::Phantom> one_, other_;
};

// Two balls through which no light comes, in the brain: streaks of hundreds of HU.
TEST(ConeBeamAccuracy, MetalGetsNoWorse) {
  const double metal = 19 * kMuWater;
  std::vector<phantom::Part> balls{
      {Body(Body::Shape::kEllipsoid, {20, 10, 15}, {5, 5, 5}), metal},
      {Body(Body::Shape::kEllipsoid, {-30, -20, -25}, {6, 6, 6}), metal}};
  const Both head(*phantom::MakePhantom("head", 128, kMuWater),
                  std::make_unique<phantom::CompositePhantom>(
                      std::move(balls), phantom::CompositePhantom::Overlap::kReplace));
  Trial trial = Coarse();
  Volume frames = FramesOf(head, trial);
  for (float& p : frames) p = std::min(p, 5.5F);
  for (const bool corrected : {false, true}) {
    trial.metal = corrected;
    const Errors errors = Measure(corrected ? "corrected metal" : "metal", head, trial, frames);
    EXPECT_LT(errors.second.sphere, errors.first.sphere);
    EXPECT_LT(errors.second.slab, errors.first.slab + 0.5);
    EXPECT_LT(errors.worst, 1);
  }
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

// From the brain through the skull, 40 mm above the orbit's plane: its peak over the steepest slope
// per mm is how wide its inner edge is.
double EdgeMm(const Volume& volume, const VolumeGrid& grid) {
  const int y = grid.ny / 2, z = static_cast<int>(grid.WorldToVoxel({0, 0, 40}).z);
  const float* const row = &volume[(int64_t{z} * grid.ny + y) * grid.nx];
  float steepest = 0, peak = 0;
  for (int x = grid.nx / 2 + 20; x + 1 < grid.nx; ++x) {
    steepest = std::max(steepest, row[x + 1] - row[x]);
    peak = std::max(peak, row[x]);
  }
  return peak / steepest * grid.spacing.x;
}

TEST(ConeBeamAccuracy, NoiseAndEdgesStayAsTheyAre) {
  const auto head = *phantom::MakePhantom("head", 128, kMuWater);
  const Trial trial;
  const Volume frames = FramesOf(*head, trial);
  Volume noisy = frames;
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, kNoise);
  for (float& p : noisy) p += noise(random);
  const Volumes clean = Reconstruct(trial, frames), with_noise = Reconstruct(trial, noisy);
  const std::vector<int64_t> voxels = AwayFromEdges(*head, trial);
  const double before = Deviation(with_noise.first, clean.first, voxels);
  const double after = Deviation(with_noise.second, clean.second, voxels);
  const Error first = Compare(with_noise.first, *head, trial.grid, voxels);
  const Error corrected = Compare(with_noise.second, *head, trial.grid, voxels);
  const double edge = EdgeMm(clean.first, trial.grid);
  const double edge_after = EdgeMm(clean.second, trial.grid);
  // What is no noise.
  const double left = std::sqrt(first.sphere * first.sphere - before * before);
  const double left_after =
      std::sqrt(std::max(0.0, corrected.sphere * corrected.sphere - after * after));
  std::printf(
      "noise %.2f HU before, %.2f after; beside it %.2f, %.2f; edge of the skull %.3f mm, %.3f\n",
      before, after, left, left_after, edge, edge_after);
  EXPECT_GT(before, 20) << "too little noise to tell anything";
  EXPECT_LT(after, 1.03 * before);
  EXPECT_NEAR(edge_after, edge, 0.03 * edge);
  EXPECT_NE(edge_after, edge) << "nothing was taken off there";
  EXPECT_LT(left_after, 0.5 * left);
  EXPECT_LT(corrected.slab, first.slab + 0.5);
}

}  // namespace
}  // namespace isocenter
