// What is left of truncation: patients wider than the detector, reconstructed by every method that
// there is for it, against the same scan on a detector that sees all of them. Noise-free. The
// figures are those of docs/truncation.md.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/phantom/composite_phantom.h"
#include "kernels/recon/detruncation/detruncate.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter {
namespace {

using ops::Truncation;
using phantom::Body;

constexpr double kMuWater = 0.02;  // 1/mm
constexpr int kViews = 240, kRows = 16, kWideColumns = 480;
constexpr double kFullTurnDeg = 360.0 * (kViews - 1) / kViews;  // from the first view to the last
constexpr double kShortArcDeg = 225;
constexpr double kPitchMm = 1.6;  // 1 mm at the isocentre
constexpr int kGrid = 128, kSlices = 4;
constexpr std::pair<Truncation, const char*> kMethods[] = {{Truncation::kNone, "none"},
                                                           {Truncation::kMirror, "mirror"},
                                                           {Truncation::kCylinder, "cylinder"},
                                                           {Truncation::kAtract, "atract"}};

struct Patient {
  const char* name;
  std::unique_ptr<phantom::Phantom> phantom;
  double width_mm;  // from left to right
};

Patient Head() {
  constexpr double kScale = 110;  // skin from left to right 1.52 times as wide
  return {"head", *phantom::MakePhantom("head", kScale, kMuWater), 1.52 * kScale};
}

struct Ellipse {
  double x, y, a, b, hu, turn_deg;
};

std::unique_ptr<phantom::Phantom> LongBody(std::span<const Ellipse> organs, double x, double y) {
  std::vector<phantom::Part> parts;
  for (const Ellipse& e : organs) {
    parts.push_back({Body(Body::Shape::kCylinder, {e.x + x, e.y + y, 0}, {e.a, e.b, 200},
                          DegreesToRadians(e.turn_deg)),
                     (1 + e.hu / 1000) * kMuWater});
  }
  return std::make_unique<phantom::CompositePhantom>(std::move(parts),
                                                     phantom::CompositePhantom::Overlap::kReplace);
}

// 300 mm wide, 20 and 10 mm off centre: fat, muscle, lungs, a spine, a sternum, two ribs.
Patient Thorax() {
  constexpr Ellipse kOrgans[] = {{0, 0, 150, 100, -50, 0},   {0, 0, 142, 92, 50, 0},
                                 {-65, -5, 50, 65, -700, 8}, {65, -5, 50, 65, -700, -8},
                                 {0, 62, 16, 14, 400, 0},    {0, -80, 14, 6, 450, 0},
                                 {100, 20, 5, 9, 650, 20},   {-118, 10, 5, 9, 650, -10}};
  return {"thorax", LongBody(kOrgans, 20, 10), 300};
}

// 225 mm thick, 15 and 8 mm off centre; lungs reach to 12 mm below the skin, beside a heart.
Patient ThoraxOfThinWalls(const char* name, double width) {
  const double a = width / 2, b = 112.5, lung = a - 74;
  const Ellipse organs[] = {{0, 0, a, b, -80, 0},
                            {0, 0, a - 6, b - 6, 50, 0},
                            {-lung, 0, 62, 0.72 * b, -780, 6},
                            {lung, 0, 62, 0.72 * b, -780, -6},
                            {20, -10, 38, 40, 45, 30},
                            {0, 0.62 * b, 17, 15, 400, 0},
                            {0, 0.62 * b + 4, 8, 8, 10, 0},
                            {0, -0.86 * b, 13, 5, 450, 0},
                            {0.9 * a, 10, 4, 10, 700, 10},
                            {-0.9 * a, -8, 4, 10, 700, -10},
                            {0.6 * a, 0.74 * b, 9, 4, 700, -30},
                            {-0.6 * a, 0.74 * b, 9, 4, 700, 30}};
  return {name, LongBody(organs, 15, -8), width};
}

Patient Abdomen() {
  constexpr Ellipse kOrgans[] = {{0, 0, 160, 115, -100, 0},   {0, 0, 142, 99, 50, 0},
                                 {-56, -12, 61, 58, 60, 10},  {64, -29, 22, 18, -900, 0},
                                 {24, -46, 30, 16, -600, 20}, {0, 63, 24, 20, 350, 0},
                                 {-48, 52, 25, 22, 30, 0},    {48, 52, 25, 22, 30, 0}};
  return {"abdomen", LongBody(kOrgans, 0, 0), 320};
}

Patient Hips() {
  constexpr Ellipse kOrgans[] = {{0, 0, 170, 105, -100, 0}, {0, 0, 148, 87, 50, 0},
                                 {-94, 0, 26, 26, 700, 0},  {-94, 0, 18, 18, 400, 0},
                                 {94, 0, 26, 26, 700, 0},   {94, 0, 18, 18, 400, 0},
                                 {0, 63, 40, 16, 500, 0},   {0, -21, 40, 35, 5, 0}};
  return {"hips", LongBody(kOrgans, 0, 0), 340};
}

recon::Acquisition AcquisitionOf(int columns, double arc_deg) {
  recon::Acquisition acquisition{.detector = {.columns = columns,
                                              .rows = kRows,
                                              .pitch_u_mm = kPitchMm,
                                              .pitch_v_mm = kPitchMm},
                                 .pixel_type = recon::PixelType::kFloat32LineIntegrals};
  acquisition.trajectory = *MakeCircularOrbit({.views = kViews,
                                               .source_to_isocenter_mm = 750,
                                               .source_to_detector_mm = 1200,
                                               .start_angle = 0.3,
                                               .arc = DegreesToRadians(arc_deg)},
                                              acquisition.detector);
  return acquisition;
}

std::vector<float> Frames(const phantom::Phantom& phantom, const recon::Acquisition& acquisition) {
  const Detector& detector = acquisition.detector;
  const Shape3 shape{kViews, detector.rows, detector.columns};
  std::vector<float> frames(shape.count());
  ThreadPool pool(UsableCores());
  for (int view = 0; view < kViews; ++view) {
    phantom::ProjectView(phantom, acquisition.trajectory[view], detector, 1, pool,
                         HostView3<float>(frames.data(), shape).slices(view, 1));
  }
  return frames;
}

std::vector<float> Reconstruct(const recon::Acquisition& acquisition, const VolumeGrid& grid,
                               const std::vector<float>& frames, Truncation truncation) {
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan =
      recon::MakePlan(acquisition, grid, {.truncation = truncation, .mu_water_per_mm = kMuWater},
                      Backends(), *device);
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<float> volume(grid.voxels());
  if (!plan.ok()) return volume;
  const Detector& detector = acquisition.detector;
  const HostView3<const float> lines(frames.data(), {kViews, detector.rows, detector.columns});
  const auto seconds = recon::ReconstructAll(*plan, Backends(), *device, {.line_integrals = lines},
                                             HostView3<float>(volume.data(), grid.shape()));
  EXPECT_TRUE(seconds.ok()) << seconds.status();
  return volume;
}

/// With rows that go on as a model of what is beyond them (recon/detruncation).
std::vector<float> Complete(const recon::Acquisition& acquisition, const VolumeGrid& grid,
                            const std::vector<float>& frames) {
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  const ops::Device* const planned[] = {device.get()};
  const auto plan = recon::MakeDetruncationPlan(acquisition, grid, {.mu_water_per_mm = kMuWater},
                                                Backends(), planned);
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<float> volume(grid.voxels());
  if (!plan.ok()) return volume;
  const Detector& detector = acquisition.detector;
  const HostView3<const float> lines(frames.data(), {kViews, detector.rows, detector.columns});
  const absl::Status made =
      recon::ReconstructDetruncated(*plan, Backends(), devices, {.line_integrals = lines},
                                    HostView3<float>(volume.data(), grid.shape()));
  EXPECT_TRUE(made.ok()) << made;
  return volume;
}

/// In percent of the mean attenuation, in the field of view but for two voxels at its border.
struct Error {
  double rmse = 0, mean = 0, around_mean = 0;
};

Error Compare(const std::vector<float>& volume, const std::vector<float>& truth,
              const VolumeGrid& grid, double radius_mm) {
  double sum = 0, squares = 0, attenuation = 0;
  int64_t voxels = 0;
  for (int64_t i = 0; i < grid.voxels(); ++i) {
    const Vec3 p = grid.VoxelToWorld(static_cast<double>(i % grid.nx),
                                     static_cast<double>(i / grid.nx % grid.ny), 0);
    if (std::hypot(p.x, p.y) > radius_mm - 2 * grid.spacing.x) continue;
    const double difference = volume[i] - truth[i];
    sum += difference;
    squares += difference * difference;
    attenuation += 1000 + truth[i];
    ++voxels;
  }
  EXPECT_GT(voxels, grid.voxels() / 2) << "too little would be compared";
  const double per_cent = 100 * static_cast<double>(voxels) / attenuation;
  const double mean = sum / static_cast<double>(voxels);
  const double square = squares / static_cast<double>(voxels);
  return {per_cent * std::sqrt(square), per_cent * mean,
          per_cent * std::sqrt(std::max(0.0, square - mean * mean))};
}

/// Each method's error with a detector that sees `share` of the patient's width.
std::map<std::string, Error> Measure(const Patient& patient, double share, double arc_deg) {
  const int columns = 2 * static_cast<int>(std::lround(share * patient.width_mm / 2));
  const recon::Acquisition wide = AcquisitionOf(kWideColumns, arc_deg);
  const recon::Acquisition cut = AcquisitionOf(columns, arc_deg);
  const double radius = 750 * std::sin(std::atan(columns / 2.0 * kPitchMm / 1200));
  const double voxel = 2 * radius / kGrid;
  const VolumeGrid grid = CenteredGrid(kGrid, kGrid, kSlices, {voxel, voxel, 1});
  const std::vector<float> truth =
      Reconstruct(wide, grid, Frames(*patient.phantom, wide), Truncation::kNone);
  const std::vector<float> frames = Frames(*patient.phantom, cut);
  std::map<std::string, Error> errors;
  const auto count = [&](const char* name, const std::vector<float>& volume) {
    const Error error = Compare(volume, truth, grid, radius);
    std::printf(
        "%-9s %3.0f %% of the width, %5.1f deg, %-9s %7.2f %% (mean %+7.2f, around it %6.2f)\n",
        patient.name, 100 * share, arc_deg, name, error.rmse, error.mean, error.around_mean);
    errors[name] = error;
  };
  for (const auto& [method, name] : kMethods) {
    count(name, Reconstruct(cut, grid, frames, method));
  }
  count("completed", Complete(cut, grid, frames));
  return errors;
}

// Bounds are a tenth above what is measured.
TEST(TruncationAccuracy, SeventyPerCentOfAHead) {
  for (const double arc : {kFullTurnDeg, kShortArcDeg}) {
    auto errors = Measure(Head(), 0.7, arc);
    EXPECT_GT(errors["none"].rmse, 70);
    EXPECT_LT(errors["mirror"].rmse, 2.1);
    EXPECT_LT(errors["cylinder"].rmse, arc > 300 ? 2.5 : 2.75);
    EXPECT_LT(errors["cylinder"].around_mean, arc > 300 ? 0.51 : 2.2);
    EXPECT_LT(errors["atract"].rmse, 39);
    EXPECT_LT(errors["atract"].around_mean, 3.2);
  }
}

TEST(TruncationAccuracy, SeventyPerCentOfAThorax) {
  for (const double arc : {kFullTurnDeg, kShortArcDeg}) {
    auto errors = Measure(Thorax(), 0.7, arc);
    EXPECT_GT(errors["none"].rmse, 25);
    EXPECT_LT(errors["mirror"].rmse, 11);
    EXPECT_LT(errors["cylinder"].rmse, 1.95);
    EXPECT_LT(errors["atract"].rmse, 83);
  }
}

TEST(TruncationAccuracy, SeventyPerCentOfOthers) {
  for (const double arc : {kFullTurnDeg, kShortArcDeg}) {
    Patient patients[] = {ThoraxOfThinWalls("thorax A", 285), ThoraxOfThinWalls("thorax B", 300),
                          Abdomen(), Hips()};
    for (const Patient& patient : patients) {
      auto errors = Measure(patient, 0.7, arc);
      EXPECT_LT(errors["completed"].rmse, 2.5) << patient.name;
    }
  }
}

TEST(TruncationAccuracy, SixtyPerCent) {
  auto head = Measure(Head(), 0.6, kFullTurnDeg), thorax = Measure(Thorax(), 0.6, kFullTurnDeg);
  EXPECT_LT(head["cylinder"].rmse, head["mirror"].rmse);
  EXPECT_LT(thorax["cylinder"].rmse, thorax["mirror"].rmse);
}

// Skull is seen along its surface there: what is seen at the edge says nothing of what is beyond
// it, the rest of the row a little.
TEST(TruncationAccuracy, WhereTheEdgeRunsAlongBone) {
  auto errors = Measure(Head(), 0.83, kFullTurnDeg);
  EXPECT_GT(errors["none"].rmse, 45);
  EXPECT_LT(errors["mirror"].rmse, 10.5);
  EXPECT_LT(errors["cylinder"].rmse, 6.7);
}

TEST(TruncationAccuracy, WhatIsNotCutStaysAsItIs) {
  for (const auto& [method, error] : Measure(Head(), 1.4, kFullTurnDeg)) {
    EXPECT_LT(error.rmse, 0.001) << method;
  }
}

}  // namespace
}  // namespace isocenter
