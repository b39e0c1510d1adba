// Completed rows: what is refused, counted, and left as it is.
#include "kernels/recon/detruncation/detruncate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/reference/register.h"

namespace isocenter::recon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kViews = 60, kColumns = 32, kRows = 8;
const VolumeGrid kGrid = CenteredGrid(16, 16, 4, {6, 6, 6});

class DetruncateTest : public testing::Test {
 protected:
  DetruncateTest() { reference::Register(registry_); }

  absl::StatusOr<DetruncationPlan> Plan(const Acquisition& scan, int64_t memory = 64 << 20) {
    device_ = *registry_.OpenDevice("reference", {.memory_bytes = memory, .threads = 1});
    devices_ = {device_.get()};
    return MakeDetruncationPlan(scan, kGrid, {}, registry_, devices_);
  }
  static Acquisition Scan(int aside_px = 0) {
    Acquisition scan{
        .detector = {.columns = kColumns, .rows = kRows, .pitch_u_mm = 5, .pitch_v_mm = 5},
        .pixel_type = PixelType::kFloat32LineIntegrals};
    scan.trajectory = *MakeCircularOrbit({.views = kViews,
                                          .source_to_isocenter_mm = 750,
                                          .source_to_detector_mm = 1200,
                                          .arc = DegreesToRadians(354)},
                                         scan.detector);
    for (ProjectionMatrix& matrix : scan.trajectory) matrix = Widened(matrix, aside_px);
    return scan;
  }

  ops::Registry registry_;
  std::unique_ptr<ops::Device> device_;
  std::vector<ops::Device*> devices_;
};

TEST_F(DetruncateTest, ADisplacedDetectorIsRefused) {
  const auto plan = Plan(Scan(7));
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("the detector is displaced"));
}

TEST_F(DetruncateTest, MemoryThatDoesNotSufficeIsNamed) {
  const auto plan = Plan(Scan(), 256 << 10);
  ASSERT_FALSE(plan.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(plan.status())) << plan.status();
}

TEST_F(DetruncateTest, RowsThatNothingCutsAreLeftAsTheyAre) {
  const auto plan = Plan(Scan());
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<float> lines(kViews * kRows * kColumns, 0);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i % kColumns > 10 && i % kColumns < 20) lines[i] = 1;
  }
  const ops::RawFrames frames{.line_integrals = {lines.data(), {kViews, kRows, kColumns}}};
  std::vector<float> volume(kGrid.voxels()), first(kGrid.voxels());
  std::vector<std::string> findings;
  const absl::Status made =
      ReconstructDetruncated(*plan, registry_, devices_, frames,
                             HostView3<float>(volume.data(), kGrid.shape()), {}, &findings);
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_THAT(findings, ElementsAre(HasSubstr("nothing was completed")));
  const auto once = *Reconstructor::Create(*plan->warm_start, registry_, devices_);
  ASSERT_TRUE(once->Run(frames, HostView3<float>(first.data(), kGrid.shape()), {}).ok());
  EXPECT_EQ(volume, first);
}

// Whoever drives it may look at it between its steps, and others may go between.
TEST_F(DetruncateTest, StepsGiveTheSameBitsAndSayHowFarTheyAre) {
  const auto plan = Plan(Scan());
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<float> lines(kViews * kRows * kColumns, 1);
  const ops::RawFrames frames{.line_integrals = {lines.data(), {kViews, kRows, kColumns}}};
  std::vector<float> first(kGrid.voxels()), at_once(kGrid.voxels()), volume(kGrid.voxels());
  const auto view = [](std::vector<float>& voxels) {
    return HostView3<float>(voxels.data(), kGrid.shape());
  };
  std::vector<std::string> findings;
  ASSERT_TRUE(
      ReconstructDetruncated(*plan, registry_, devices_, frames, view(at_once), {}, &findings)
          .ok());
  EXPECT_THAT(findings, ElementsAre(HasSubstr("100 % of the rows' ends are inside")));
  const auto once = *Reconstructor::Create(*plan->warm_start, registry_, devices_);
  ASSERT_TRUE(once->Run(frames, view(first), {}).ok());
  EXPECT_NE(first, at_once);

  const auto steps = *NewDetruncation(*plan, registry_, devices_);
  EXPECT_EQ(steps->Step().status().message(), "completing rows has not started");
  EXPECT_EQ(steps->Start(view(first)).message(), "only 0 of 60 frames have been pushed");
  for (int pushed = 0; pushed < kViews;) {
    const int count = std::min(plan->chunk_views, kViews - pushed);
    ASSERT_TRUE(steps->Push(frames.views(pushed, count)).ok());
    pushed += count;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(steps->Push(frames.views(0, 1))));
  ASSERT_TRUE(steps->Start(view(first)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(steps->Start(view(first))));
  EXPECT_TRUE(absl::IsFailedPrecondition(steps->Read(view(volume))));
  double progress = 0;
  int taken = 0;
  for (bool done = false; !done; ++taken) {
    ASSERT_FALSE(steps->readable());
    done = *steps->Step();
    EXPECT_GE(steps->progress(), progress);
    progress = steps->progress();
    ASSERT_TRUE(steps->TakeTrace().ok());
  }
  EXPECT_GT(taken, 2 * kModelPasses);
  EXPECT_EQ(progress, 1);
  ASSERT_TRUE(steps->Read(view(volume)).ok());
  EXPECT_EQ(volume, at_once);
}

// Their model is projected, and completed rows are reconstructed, by the frames' own.
TEST_F(DetruncateTest, MeasuredMatricesAreThoseOfTheVolume) {
  const auto plan = Plan(Scan());
  ASSERT_TRUE(plan.ok()) << plan.status();
  // As if the arm had stood a quarter turn aside: (x, y) is seen where (y, -x) was to be.
  Trajectory aside = plan->acquisition.trajectory;
  for (ProjectionMatrix& matrix : aside) {
    for (int row = 0; row < 12; row += 4) {
      std::tie(matrix.m[row], matrix.m[row + 1]) =
          std::pair(-matrix.m[row + 1], double{matrix.m[row]});
    }
  }
  std::vector<float> lines(kViews * kRows * kColumns);
  for (size_t i = 0; i < lines.size(); ++i) lines[i] = 1 + 0.01F * static_cast<float>(i % 7);
  const ops::RawFrames frames{.line_integrals = {lines.data(), {kViews, kRows, kColumns}}};
  const auto volume_of = [&](std::span<const ProjectionMatrix> measured) {
    const std::vector<float> first(kGrid.voxels());
    std::vector<float> volume(kGrid.voxels());
    const auto steps = *NewDetruncation(*plan, registry_, devices_);
    for (int pushed = 0; pushed < kViews; pushed += plan->chunk_views) {
      const int count = std::min(plan->chunk_views, kViews - pushed);
      EXPECT_TRUE(steps->Push(frames.views(pushed, count), measured.subspan(pushed, count)).ok());
    }
    EXPECT_TRUE(steps->Start(HostView3<const float>(first.data(), kGrid.shape())).ok());
    while (!*steps->Step()) {
    }
    EXPECT_TRUE(steps->Read(HostView3<float>(volume.data(), kGrid.shape())).ok());
    return volume;
  };
  const std::vector<float> planned = volume_of(plan->acquisition.trajectory);
  const std::vector<float> turned = volume_of(aside);
  const auto at = [](const std::vector<float>& volume, int z, int y, int x) {
    return volume[(z * kGrid.ny + y) * kGrid.nx + x];
  };
  double largest = 0, structure = 0;
  for (int z = 0; z < kGrid.nz; ++z) {
    for (int y = 0; y < kGrid.ny; ++y) {
      for (int x = 0; x < kGrid.nx; ++x) {
        const double expected = at(planned, z, kGrid.ny - 1 - x, y);
        largest = std::max(largest, std::abs(at(turned, z, y, x) - expected));
        structure = std::max(structure, std::abs(at(planned, z, y, x) - expected));
      }
    }
  }
  EXPECT_GT(structure, 10);
  EXPECT_LT(largest, 0.01 * structure);
}

TEST_F(DetruncateTest, FramesOfAnotherShapeAreRefused) {
  const auto plan = Plan(Scan());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::vector<float> lines(kViews * kRows * (kColumns - 1));
  std::vector<float> volume(kGrid.voxels());
  EXPECT_TRUE(absl::IsInvalidArgument(ReconstructDetruncated(
      *plan, registry_, devices_, {.line_integrals = {lines.data(), {kViews, kRows, kColumns - 1}}},
      HostView3<float>(volume.data(), kGrid.shape()))));
}

}  // namespace
}  // namespace isocenter::recon
