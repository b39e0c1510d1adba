// Completed rows: what is refused, counted, and left as it is.
#include "kernels/recon/detruncation/detruncate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
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
