// A scan small enough for the reference backend: what a known volume projects to.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/cpu/register.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/reference/register.h"

namespace isocenter::recon {

constexpr double kMuWater = 0.02;  // 1/mm

struct SmallScan {
  Acquisition acquisition;
  VolumeGrid grid;
  std::vector<float> truth;   // 1/mm, [z][y][x]
  std::vector<float> frames;  // [view][v][u]

  Shape3 frame_shape() const {
    return {static_cast<int64_t>(acquisition.trajectory.size()), acquisition.detector.rows,
            acquisition.detector.columns};
  }
  ops::RawFrames raw() const { return {.line_integrals = {frames.data(), frame_shape()}}; }
};

inline const ops::Registry& TestRegistry() {
  static const ops::Registry* const registry = [] {
    auto* made = new ops::Registry;
    reference::Register(*made);
    cpu::Register(*made);
    return made;
  }();
  return *registry;
}

inline std::unique_ptr<ops::Device> OpenDevice(const std::string& backend,
                                               int64_t memory_bytes = 0) {
  return *TestRegistry().OpenDevice(backend, {.memory_bytes = memory_bytes, .threads = 1});
}

/// Line integrals of scan.truth by the reference's projector, so that they are consistent.
inline void Project(ops::ProjectorModel model, SmallScan& scan) {
  const auto device = OpenDevice("reference");
  const auto session = *device->NewSession();
  auto volume = *session->NewVolume(scan.grid);
  auto stack = *session->NewProjectionStack(scan.frame_shape(), ops::StackUse::kProjections);
  EXPECT_TRUE(volume->Upload(0, {scan.truth.data(), scan.grid.shape()}).ok());
  const auto factory = *TestRegistry().projectors.at(model).forward.Find("reference");
  EXPECT_TRUE((*factory(*session))->Run(scan.acquisition.trajectory, *volume, *stack).ok());
  scan.frames.resize(scan.frame_shape().count());
  EXPECT_TRUE(stack->Download(0, {scan.frames.data(), scan.frame_shape()}).ok());
}

/// Water with a denser and a lighter ball, in a grid that all views see whole.
inline SmallScan MakeSmallScan(int views = 20, double arc_deg = 342, int size = 10,
                               ops::ProjectorModel model = ops::ProjectorModel::kJoseph) {
  SmallScan scan;
  scan.acquisition = {.detector = {.columns = 26, .rows = 22, .pitch_u_mm = 8, .pitch_v_mm = 8},
                      .pixel_type = PixelType::kFloat32LineIntegrals};
  scan.acquisition.trajectory = *MakeCircularOrbit({.views = views,
                                                    .source_to_isocenter_mm = 600,
                                                    .source_to_detector_mm = 1000,
                                                    .start_angle = 0.3,
                                                    .arc = DegreesToRadians(arc_deg)},
                                                   scan.acquisition.detector);
  scan.grid = CenteredGrid(size, size, size - 1, {8, 8, 8});
  const double radius = 0.42 * size * 8;
  for (int k = 0; k < scan.grid.nz; ++k) {
    for (int j = 0; j < scan.grid.ny; ++j) {
      for (int i = 0; i < scan.grid.nx; ++i) {
        const Vec3 p = scan.grid.VoxelToWorld(i, j, k);
        double value = Norm(p) < radius ? kMuWater : 0;
        if (Norm(p - Vec3{0.4 * radius, 0, 0.2 * radius}) < 0.4 * radius) value = 1.5 * kMuWater;
        if (Norm(p + Vec3{0.3 * radius, 0.4 * radius, 0}) < 0.35 * radius) value = 0.5 * kMuWater;
        scan.truth.push_back(static_cast<float>(value));
      }
    }
  }
  Project(model, scan);
  return scan;
}

struct Refined {
  absl::Status status;
  RefinementPlan plan;
  std::vector<IterationReport> reports;
  std::vector<float> hounsfield;
};

inline Refined RefineOn(const SmallScan& scan, const IterativeSettings& settings,
                        std::vector<ops::Device*> devices) {
  Refined refined;
  auto plan = MakeRefinementPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
                                 settings, TestRegistry(), devices);
  refined.status = plan.status();
  if (!plan.ok()) return refined;
  refined.plan = *std::move(plan);
  refined.hounsfield.resize(scan.grid.voxels());
  auto reports = RefineAll(refined.plan, TestRegistry(), devices, scan.raw(),
                           {refined.hounsfield.data(), scan.grid.shape()});
  refined.status = reports.status();
  if (reports.ok()) refined.reports = *std::move(reports);
  return refined;
}

inline Refined Refine(const SmallScan& scan, const IterativeSettings& settings,
                      const std::string& backend = "reference") {
  const auto device = OpenDevice(backend);
  return RefineOn(scan, settings, {device.get()});
}

/// Root of the mean square difference to the truth, HU.
inline double RmseOf(const SmallScan& scan, const std::vector<float>& hounsfield) {
  double square = 0;
  for (size_t i = 0; i < hounsfield.size(); ++i) {
    const double truth = 1000 * (scan.truth[i] / kMuWater - 1);
    square += (hounsfield[i] - truth) * (hounsfield[i] - truth);
  }
  return std::sqrt(square / static_cast<double>(hounsfield.size()));
}

/// Root of the mean square, HU.
inline double RmsDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double square = 0;
  for (size_t i = 0; i < a.size(); ++i) square += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(square / static_cast<double>(a.size()));
}

inline double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN must not pass
  }
  return largest;
}

}  // namespace isocenter::recon
