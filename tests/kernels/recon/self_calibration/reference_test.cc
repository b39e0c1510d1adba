// An earlier volume: how it is taken, where its patient is found, what it is refused for. What it
// reaches: tests/accuracy/reference_accuracy_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/self_calibration/reference/find_patient.h"
#include "kernels/recon/self_calibration/reference/reference_match.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using testing::HasSubstr;

std::vector<float> Hounsfield(const std::vector<float>& mu) {
  std::vector<float> hu;
  for (const float value : mu) hu.push_back(static_cast<float>(1000 * (value / kMuWater - 1)));
  return hu;
}

ReferenceVolume ReferenceOf(const SmallScan& scan) {
  const std::vector<float> hu = Hounsfield(scan.truth);
  return *MakeReference(scan.grid, {hu.data(), scan.grid.shape()}, kMuWater, 1);
}

TEST(Reference, HasItsMiddleAtTheIsocentre) {
  VolumeGrid grid = CenteredGrid(16, 18, 20, {1, 1, 2});
  grid.origin = grid.origin + Vec3{7, -400, 33};
  std::vector<float> hu(grid.voxels(), 0.0F);
  hu[0] = std::numeric_limits<float>::quiet_NaN();  // air
  const auto made = MakeReference(grid, {hu.data(), grid.shape()}, kMuWater, 2);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->grid, CenteredGrid(8, 9, 20, {2, 2, 2}));
  EXPECT_EQ(made->middle_mm, (Vec3{7, -400, 33}));
  EXPECT_NEAR(made->mu.front(), 0.75 * kMuWater, 1e-6);
  EXPECT_NEAR(made->mu.back(), kMuWater, 1e-6);
}

TEST(Reference, SaysWhatIsLegal) {
  const VolumeGrid small = CenteredGrid(7, 20, 20, {1, 1, 1});
  std::vector<float> hu(20 * 20 * 20, -1000.0F);
  EXPECT_THAT(
      std::string(MakeReference(small, {hu.data(), small.shape()}, kMuWater, 1).status().message()),
      HasSubstr("7x20x20 voxels; legal is 8 or more"));
  const VolumeGrid grid = CenteredGrid(20, 20, 20, {1, 1, 1});
  EXPECT_THAT(
      std::string(MakeReference(grid, {hu.data(), grid.shape()}, kMuWater, 1).status().message()),
      HasSubstr("its densest voxel has -1000 HU"));
  EXPECT_EQ(MakeReference(grid, {hu.data(), small.shape()}, kMuWater, 1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The volume comes in parts, each of which becomes a slice; what is left at its end goes into none.
TEST(ReferenceMaker, TakesSlicesAsTheyCome) {
  const VolumeGrid grid = CenteredGrid(20, 18, 21, {1, 1, 1});
  std::vector<float> hu(grid.voxels());
  for (size_t i = 0; i < hu.size(); ++i) hu[i] = static_cast<float>(i % 977);
  const HostView3<const float> voxels(hu.data(), grid.shape());
  const auto whole = MakeReference(grid, voxels, kMuWater, 2.1);
  ASSERT_TRUE(whole.ok()) << whole.status();
  auto maker = ReferenceMaker::Create(grid, kMuWater, 2.1);
  ASSERT_TRUE(maker.ok()) << maker.status();
  EXPECT_EQ(maker->slices_at_once(), 2);
  EXPECT_EQ(maker->slices_wanted(), 20);
  EXPECT_EQ(maker->made().shape(), (Shape3{10, 9, 10}));
  EXPECT_EQ(maker->bytes(), 4 * (10 * 9 * 10 + 2 * 18 * 20));
  EXPECT_THAT(std::string(maker->Finish().status().message()), HasSubstr("lacks 20 slices"));
  EXPECT_EQ(maker->Add(voxels.slices(0, 1)).code(), absl::StatusCode::kInvalidArgument);
  for (int slice = 0; slice < 20; slice += 2) {
    ASSERT_TRUE(maker->Add(voxels.slices(slice, 2)).ok());
  }
  EXPECT_EQ(maker->slices_wanted(), 0);
  EXPECT_EQ(maker->Add(voxels.slices(0, 2)).code(), absl::StatusCode::kFailedPrecondition);
  const auto made = maker->Finish();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->mu, whole->mu);
  EXPECT_EQ(made->grid, whole->grid);
  EXPECT_EQ(made->middle_mm, whole->middle_mm);
}

// What goes on beyond the bottom of the volume is not known.
TEST(CoveredPixels, AreThoseWhoseRaysEnterAndLeaveInAir) {
  const SmallScan scan = MakeSmallScan(20, 342, 10);
  ReferenceVolume whole = ReferenceOf(scan);
  const auto covered = [&](const ReferenceVolume& reference) {
    const std::vector<uint8_t> pixels = CoveredPixels(
        reference, scan.acquisition.trajectory[0], scan.acquisition.detector, kAirShare * kMuWater);
    return std::count(pixels.begin(), pixels.end(), 1);
  };
  const auto of_whole = covered(whole);
  EXPECT_GT(of_whole, 100);
  EXPECT_LT(of_whole, 26 * 22);  // others pass the volume by
  std::fill(whole.mu.begin(), whole.mu.begin() + whole.grid.nx * whole.grid.ny, 0.02F);  // bottom
  EXPECT_LT(covered(whole), of_whole);
  std::fill(whole.mu.begin(), whole.mu.end(), 0.02F);
  EXPECT_EQ(covered(whole), 0);
}

TEST(FindPatient, FindsThePatientWhoLiesElsewhere) {
  SmallScan scan = MakeSmallScan(40, 220, 20);
  const ReferenceVolume reference = ReferenceOf(scan);
  const std::vector<double> planted = {5, -6, 4, 3, -4, 5};
  const Trajectory given = scan.acquisition.trajectory;
  for (ProjectionMatrix& matrix : scan.acquisition.trajectory) matrix = InPose(matrix, planted);
  Project(ops::ProjectorModel::kSiddon, scan);  // not that of the radiographs
  scan.acquisition.trajectory = given;
  const BinnedLines lines{.shape = scan.frame_shape(), .lines = scan.frames};
  const auto device = OpenDevice("cpu");
  ThreadPool threads(1);
  const ReferenceScan search{scan.acquisition, lines,   reference, kMuWater,
                             TestRegistry(),   *device, threads};
  const std::vector<DetectorMove> still(search.acquisition.trajectory.size());
  const auto place = FindPatient(search, still, [] { return absl::OkStatus(); });
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_GT(place->similarity, 0.95);
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(place->six[i], planted[i], 1.5) << i;  // mm; pixels are 4.8 mm there
  }
  const auto again = FindPatient(search, still, [] { return absl::OkStatus(); });
  EXPECT_EQ(again->six, place->six);
  EXPECT_EQ(FindPatient(search, still, [] { return absl::CancelledError("enough"); }).status(),
            absl::CancelledError("enough"));
}

TEST(CheckReference, RefusesWithFigures) {
  EXPECT_TRUE(CheckReference({.covered = 0.6, .similarity_before = 0.9}).ok());
  EXPECT_EQ(CheckReference({.covered = 0.41, .similarity_before = 0.9}),
            absl::FailedPreconditionError(
                "the reference volume covers 41 % of what the frames show, where it fits best; "
                "legal is 50 % or more"));
  EXPECT_EQ(CheckReference({.covered = 0.6, .similarity_before = 0.612}),
            absl::FailedPreconditionError(
                "the reference volume does not show what the frames show: where it fits best their "
                "edges correlate by 0.612; legal is 0.85 or more (another patient, or another part "
                "of the body?)"));
}

}  // namespace
}  // namespace isocenter::recon
