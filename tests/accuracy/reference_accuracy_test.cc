// Wobbles of the detector that an earlier volume of the patient tells, who lay elsewhere then: what
// is left of them against the true matrices, and references that must not be believed. The cpu
// backend computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/phantom/phantom.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/self_calibration/reference/reference_moves.h"
#include "kernels/recon/self_calibration/self_calibration.h"
#include "tests/accuracy/moved_detector.h"

namespace isocenter::moved_detector {
namespace {

using recon::DetectorMove;
using testing::HasSubstr;

recon::Acquisition Scan() {
  return {.detector = kDetector,
          .pixel_type = recon::PixelType::kFloat32LineIntegrals,
          .trajectory = Nominal()};
}

std::vector<float> FramesOfObject(const std::string& object, double scale_mm,
                                  const Trajectory& seen, uint64_t noise_seed) {
  return FramesOf(*phantom::MakePhantom(object, scale_mm, kMuWater).value(), seen, noise_seed);
}

// What filtered back-projection made of a scan with true matrices, of an object in a pose
// (matrix_model.h), in voxels of `voxel_mm`.
recon::ReferenceVolume Earlier(const std::string& object, double scale_mm,
                               std::vector<double> pose, const VolumeGrid& grid) {
  Trajectory seen = Nominal();
  for (ProjectionMatrix& matrix : seen) matrix = recon::InPose(matrix, pose);
  const std::vector<float> frames = FramesOfObject(object, scale_mm, seen, 11);
  const auto device = *Backends().OpenDevice("cpu", {});
  const ops::Device* const devices[] = {device.get()};
  const auto plan = *recon::MakePlan(Scan(), grid, {.mu_water_per_mm = kMuWater}, Backends(),
                                     devices, recon::Arrival::kComplete);
  std::vector<float> hu(grid.voxels());
  EXPECT_TRUE(recon::ReconstructAll(plan, Backends(), *device,
                                    {.line_integrals = {frames.data(), kShape}},
                                    {hu.data(), grid.shape()})
                  .ok());
  return *recon::MakeReference(grid, {hu.data(), grid.shape()}, kMuWater,
                               recon::ReferenceVoxelMm(Scan()));
}

VolumeGrid Whole() { return CenteredGrid(200, 200, 160, {1.1, 1.1, 1.1}); }

absl::StatusOr<recon::SelfCalibration> Calibrated(const std::string& object,
                                                  const Trajectory& truth,
                                                  const recon::ReferenceVolume& reference) {
  const std::vector<float> frames = FramesOfObject(object, 100, truth, 4);
  recon::CalibrationSearch search =
      recon::DefaultCalibrationSearch({.mu_water_per_mm = kMuWater});
  search.reference = &reference;
  const auto device = *Backends().OpenDevice("cpu", {});
  auto found = recon::CalibrateFromFrames(
      Scan(), search, {.line_integrals = {frames.data(), kShape}}, {}, Backends(), *device);
  std::printf("%s\n", found.ok() ? recon::ToText(*found).c_str() : found.status().ToString().c_str());
  if (found.ok() && found->reference) {
    std::printf("planes %.4f, before %.4f, of the reference %.4f\n", found->planes_after,
                found->planes_before, found->reference->planes);
  }
  return found;
}

TEST(Reference, Experiment) {
  const auto env = [](const char* n, const char* d) { return std::string(std::getenv(n) ? std::getenv(n) : d); };
  const uint64_t seed = atoi(env("SEED", "33").c_str());
  const auto g = env("GRID", "whole");
  VolumeGrid grid = Whole();
  if (g == "coarse") { grid = CenteredGrid(90, 110, 70, {2.3, 2.0, 1.7}); grid.origin.z += 12; }
  if (g == "small") { grid = CenteredGrid(200, 200, 40, {1.1, 1.1, 1.1}); }
  const auto reference = Earlier(env("PRIOR", "head"), atof(env("SCALE", "100").c_str()), {-7, 4, 8, 5, 6, -3}, grid);
  const Trajectory truth = seed == 0 ? Nominal() : With(Wobble(seed));
  const auto found = Calibrated(env("OBJ", "head"), truth, reference);
  if (!found.ok()) return;
  const Trajectory corrected = recon::Corrected(Nominal(), kDetector, *found);
  const double wt = WireWidth(truth, truth), w = WireWidth(truth, corrected);
  std::printf("apart %.4f before %.4f wire %.4f true %.4f (%.1f %%)\n", Apart(corrected, truth), Apart(Nominal(), truth), w, wt, 100 * (w / wt - 1));
}

}  // namespace
}  // namespace isocenter::moved_detector
