// Wobbles of the detector that an earlier volume of the patient tells, who lay elsewhere then: what
// is left of them against the true matrices, and references that must not be believed. The cpu
// backend computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
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
recon::ReferenceVolume Earlier(const std::string& object, double scale_mm, std::vector<double> pose,
                               const VolumeGrid& grid) {
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
  recon::CalibrationSearch search = recon::DefaultCalibrationSearch({.mu_water_per_mm = kMuWater});
  search.reference = &reference;
  const auto device = *Backends().OpenDevice("cpu", {});
  auto found = recon::CalibrateFromFrames(
      Scan(), search, {.line_integrals = {frames.data(), kShape}}, {}, Backends(), *device);
  std::printf("%s\n",
              found.ok() ? recon::ToText(*found).c_str() : found.status().ToString().c_str());
  if (found.ok() && found->reference) {
    std::printf("planes %.4f, before %.4f, of the reference %.4f\n", found->planes_after,
                found->planes_before, found->reference->planes);
  }
  return found;
}

void ExpectRepaired(const recon::SelfCalibration& found, const Trajectory& truth) {
  ASSERT_TRUE(found.reference.has_value());
  EXPECT_TRUE(found.reference->taken);
  EXPECT_GT(found.reference->similarity_after, found.reference->similarity_before);
  const Trajectory corrected = recon::Corrected(Nominal(), kDetector, found);
  const double before = Apart(Nominal(), truth), after = Apart(corrected, truth);
  const double wire = WireWidth(truth, corrected), wire_true = WireWidth(truth, truth);
  std::printf("seen %.3f mm apart, before %.3f; wire %.3f mm, true matrices %.3f (%+.1f %%)\n",
              after, before, wire, wire_true, 100 * (wire / wire_true - 1));
  EXPECT_LT(after, 0.1);
  EXPECT_NEAR(wire, wire_true, 0.03 * wire_true);
}

TEST(Reference, TakesAWobbleOut) {
  const Trajectory truth = With(Wobble(47));
  const recon::ReferenceVolume reference = Earlier("head", 100, {9, 6, -8, 6, -5, -9}, Whole());
  const auto found = Calibrated("head", truth, reference);
  ASSERT_TRUE(found.ok()) << found.status();
  ExpectRepaired(*found, truth);
  // The patient turned back.
  const Vec3 turn = recon::kLeverMm * found->reference->patient.turn_rad;
  EXPECT_NEAR(turn.x, -6, 0.3);
  EXPECT_NEAR(turn.y, 5, 0.3);
  EXPECT_NEAR(turn.z, 9, 0.3);
}

// Coarse voxels of three sizes, in a box that is not about the isocentre and ends within the head.
TEST(Reference, MayBeCoarseAndCut) {
  const Trajectory truth = With(Wobble(58));
  VolumeGrid grid = CenteredGrid(92, 104, 80, {2.3, 2.0, 1.7});
  grid.origin.z += 12;
  const auto found = Calibrated("head", truth, Earlier("head", 100, {3, -8, 5, -4, 6, 2}, grid));
  ASSERT_TRUE(found.ok()) << found.status();
  ExpectRepaired(*found, truth);
}

// The volume then is the first one, bit for bit.
TEST(Reference, LeavesTrueMatrices) {
  const auto found =
      Calibrated("head", Nominal(), Earlier("head", 100, {-5, 7, 6, 4, 3, -6}, Whole()));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->found());
  EXPECT_FALSE(found->reference->taken);
  EXPECT_EQ(recon::Corrected(Nominal(), kDetector, *found), Nominal());
}

// A head that is 6 % larger.
TEST(Reference, RefusesAnotherPatient) {
  const auto found =
      Calibrated("head", With(Wobble(47)), Earlier("head", 106, {0, 0, 0, 0, 0, 0}, Whole()));
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("the reference volume does not show what the frames show"));
}

}  // namespace
}  // namespace isocenter::moved_detector
