// What gating gives of a beating heart, in Hounsfield units: scans of 205 degrees over irregular
// beats against the phantom in each phase itself. Two errors are told: of the voxels around the
// heart that it moves through, and of those there that lie still. The cpu backend computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/geometry/phases/phase_curve.h"
#include "kernels/phantom/noise.h"
#include "kernels/phantom/thorax.h"
#include "kernels/recon/gating/gated_frames.h"
#include "kernels/recon/gating/refine_cycle.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter {
namespace {

using Volume = std::vector<float>;

constexpr double kMuWater = 0.02;  // 1/mm
constexpr double kScaleMm = 100;
const Detector kDetector{.columns = 124, .rows = 96, .pitch_u_mm = 3.08, .pitch_v_mm = 3.08};
const VolumeGrid kGrid = CenteredGrid(64, 64, 56, {3.3, 3.3, 3.3});

constexpr int kGates = 8;

struct Beats {
  int views = 0;
  double cycles = 0;
  double photons = 0;  // 0: no noise
  bool moves = true;   // or lies still, whatever the phases say
};

struct Scan {
  recon::Acquisition acquisition;
  std::vector<float> phases;
  Volume lines;
};

std::unique_ptr<phantom::Phantom> InPhase(double phase) {
  return phantom::MakeThorax(kScaleMm, kMuWater, phantom::Organ::kHeart,
                             phantom::Excursion(phantom::Organ::kHeart, phase));
}

void AddNoise(double photons, int view, std::span<float> lines) {
  constexpr double kI0 = 60000;
  std::vector<uint16_t> counts(lines.size());
  phantom::ToCounts(lines, kI0, {.photons = photons, .seed = 3}, view, counts);
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i] = static_cast<float>(std::log(kI0 / std::max<int>(1, counts[i])));
  }
}

Scan ScanOf(const Beats& beats) {
  Scan scan;
  scan.acquisition.detector = kDetector;
  scan.acquisition.pixel_type = recon::PixelType::kFloat32LineIntegrals;
  scan.acquisition.trajectory = *MakeCircularOrbit({.views = beats.views,
                                                    .source_to_isocenter_mm = 750,
                                                    .source_to_detector_mm = 1200,
                                                    .start_angle = DegreesToRadians(-100),
                                                    .arc = DegreesToRadians(205)},
                                                   kDetector);
  scan.phases =
      *PhasesOfFrames({.cycles = beats.cycles, .irregular = 0.08, .seed = 4}, beats.views);
  const Shape3 shape{beats.views, kDetector.rows, kDetector.columns};
  scan.lines.resize(shape.count());
  ThreadPool pool(UsableCores());
  for (int view = 0; view < beats.views; ++view) {
    const auto frame = HostView3<float>(scan.lines.data(), shape).slices(view, 1);
    const auto object = InPhase(beats.moves ? scan.phases[view] : 0);
    phantom::ProjectView(*object, scan.acquisition.trajectory[view], kDetector, 2, pool, frame);
    if (beats.photons > 0) AddNoise(beats.photons, view, frame.span());
  }
  return scan;
}

std::vector<PhaseWindow> Windows() {
  std::vector<PhaseWindow> windows;
  for (int i = 0; i < kGates; ++i) {
    windows.push_back({.centre = double(i) / kGates, .width = 1.0 / kGates});
  }
  return windows;
}

Volume Fdk(const recon::Acquisition& acquisition, const Volume& lines) {
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan = recon::MakePlan(acquisition, kGrid, {.mu_water_per_mm = kMuWater}, Backends(),
                                    *device, recon::Arrival::kComplete);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  const auto views = static_cast<int64_t>(acquisition.trajectory.size());
  const ops::RawFrames frames{
      .line_integrals = {lines.data(), {views, kDetector.rows, kDetector.columns}}};
  const auto done =
      recon::ReconstructAll(*plan, Backends(), *device, frames, {volume.data(), kGrid.shape()});
  EXPECT_TRUE(done.ok()) << done.status();
  return volume;
}

std::vector<Volume> GatedFdk(const Scan& scan) {
  std::vector<Volume> volumes;
  for (const PhaseWindow& window : Windows()) {
    const auto frames = *recon::ChooseFrames(scan.acquisition, scan.lines, scan.phases, window);
    volumes.push_back(Fdk(frames.acquisition, frames.lines));
  }
  return volumes;
}

std::vector<Volume> Refined(const Scan& scan, const Volume& start, double strength_hu) {
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  std::vector<Volume> volumes(kGates, Volume(kGrid.voxels()));
  std::vector<HostView3<float>> voxels;
  for (Volume& volume : volumes) voxels.emplace_back(volume.data(), kGrid.shape());
  const std::vector<PhaseWindow> windows = Windows();
  const absl::Status done = recon::RefineCycle(
      {scan.acquisition, scan.lines, scan.phases, windows}, kGrid, {.mu_water_per_mm = kMuWater},
      {.algorithm = recon::Algorithm::kAsdPocs,
       .iterations = 9,
       .warm_start = false,
       .prior_strength = 3,
       .tv_steps = 10},
      {.strength_hu = strength_hu, .rounds = 3}, Backends(), devices, {start.data(), kGrid.shape()},
      voxels);
  EXPECT_TRUE(done.ok()) << done;
  return volumes;
}

Volume Truth(double phase) {
  Volume truth(kGrid.voxels());
  ThreadPool pool(UsableCores());
  phantom::Rasterize(*InPhase(phase), kGrid, kMuWater, 2, pool, {truth.data(), kGrid.shape()});
  return truth;
}

struct Errors {
  double moving = 0, still = 0;  // RMSE in HU
};

Errors ErrorsOf(const Volume& volume, const Volume& truth) {
  static const Volume rest = Truth(0.8), systole = Truth(0.35);
  double squares[2] = {}, counted[2] = {};
  for (int64_t i = 0; i < kGrid.voxels(); ++i) {
    const Vec3 at = kGrid.VoxelToWorld(double(i % kGrid.nx), double(i / kGrid.nx % kGrid.ny),
                                       double(i / (int64_t{kGrid.nx} * kGrid.ny)));
    const Vec3 from = at - Vec3{16, -18, -10};
    if (std::abs(from.x) > 36 || std::abs(from.y) > 34 || std::abs(from.z) > 40) continue;
    const int moves = std::abs(rest[i] - systole[i]) > 20;
    squares[moves] += (volume[i] - truth[i]) * (volume[i] - truth[i]);
    ++counted[moves];
  }
  return {std::sqrt(squares[1] / counted[1]), std::sqrt(squares[0] / counted[0])};
}

// The mean over the phases; one volume stands for all of them.
Errors Mean(const std::string& what, const std::vector<Volume>& volumes, bool moves = true) {
  Errors mean;
  for (int g = 0; g < kGates; ++g) {
    const Errors errors =
        ErrorsOf(volumes[volumes.size() == 1 ? 0 : g], Truth(moves ? double(g) / kGates : 0));
    mean.moving += errors.moving / kGates;
    mean.still += errors.still / kGates;
  }
  std::printf("%s: %.1f HU where it moves, %.1f HU beside\n", what.c_str(), mean.moving,
              mean.still);
  return mean;
}

// Thirty beats: filtered back-projection of a gate shows the heart better than that of all frames.
TEST(GatedAccuracy, OfManyBeatsGatedIsBetterThanUngatedAtTheHeart) {
  const Scan scan = ScanOf({.views = 600, .cycles = 30});
  const Errors ungated = Mean("30 beats, all frames", {Fdk(scan.acquisition, scan.lines)});
  const Errors gated = Mean("30 beats, gated", GatedFdk(scan));
  EXPECT_LT(gated.moving, 0.65 * ungated.moving);
  EXPECT_LT(gated.still, 70);  // streaks
}

// Fifteen beats are too few for that; together the phases show the heart, and what lies still is
// better than in the volume of all frames, too.
TEST(GatedAccuracy, OfFewBeatsPhasesTogetherAreBetterThanGatedAndUngated) {
  const Scan scan = ScanOf({.views = 300, .cycles = 15, .photons = 10000});
  const Volume all = Fdk(scan.acquisition, scan.lines);
  const Errors ungated = Mean("15 beats, all frames", {all});
  const Errors gated = Mean("15 beats, gated", GatedFdk(scan));
  const Errors alone = Mean("15 beats, each phase iterated", Refined(scan, all, 0));
  const Errors together = Mean("15 beats, phases together", Refined(scan, all, 5));
  EXPECT_LT(together.moving, 0.65 * ungated.moving);
  EXPECT_LT(together.still, 0.65 * ungated.still);
  EXPECT_LT(together.moving, 0.6 * gated.moving);
  EXPECT_LT(together.still, 0.2 * gated.still);
  EXPECT_LT(together.still, 0.96 * alone.still);
  EXPECT_LT(together.moving, 1.02 * alone.moving);
}

// Who gates what does not move loses nothing where phases are refined together.
TEST(GatedAccuracy, WhatLiesStillIsNotWorseForIt) {
  const Scan scan = ScanOf({.views = 300, .cycles = 15, .moves = false});
  const Volume all = Fdk(scan.acquisition, scan.lines);
  const Errors ungated = Mean("still, all frames", {all}, false);
  const Errors gated = Mean("still, gated", GatedFdk(scan), false);
  const Errors together = Mean("still, phases together", Refined(scan, all, 5), false);
  EXPECT_LT(together.moving, 1.05 * ungated.moving);
  EXPECT_LT(together.still, 1.05 * ungated.still);
  EXPECT_LT(gated.still, 130);  // streaks
}

}  // namespace
}  // namespace isocenter
