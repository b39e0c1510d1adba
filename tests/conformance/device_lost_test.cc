// What a device says when it is lost. It ends a CUDA context for the whole process, so this is a
// program of its own with one test per backend, the last thing that the process does with it.
#include "kernels/ops/device_lost.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

class DeviceLostTest : public testing::TestWithParam<std::string> {};

TEST(Devices, AreUnderTest) { EXPECT_FALSE(BackendsUnderTest().empty()); }

TEST_P(DeviceLostTest, ABrokenDeviceSaysSoFromThenOn) {
  const auto device = OpenDevice(GetParam());
  const auto other = device->NewSession();
  ASSERT_TRUE(other.ok());
  const VolumeGrid grid = CenteredGrid(64, 64, 64, {1, 1, 1});
  const auto volume = NewVolume(**other, grid);
  Array slices(grid.shape());
  EXPECT_TRUE(volume->Download(0, slices.view()).ok());

  EXPECT_TRUE(device->Check().ok());
  const absl::Status status = device->Break();
  EXPECT_TRUE(ops::IsDeviceLost(status)) << status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  if (!device->traits().own_memory) return;  // the host itself goes on

  EXPECT_TRUE(ops::IsDeviceLost(device->Check()));
  // All sessions, and new ones; a failed copy never says that slices have arrived.
  EXPECT_TRUE(ops::IsDeviceLost(volume->Download(0, slices.view())));
  std::atomic<int> told = 0;
  const absl::Status started = volume->StartDownload(0, slices.view(), [&told] { ++told; });
  const absl::Status synchronized = (*other)->Synchronize();
  EXPECT_TRUE(ops::IsDeviceLost(started.ok() ? synchronized : started)) << synchronized;
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(ops::IsDeviceLost(device->NewSession().status()));
}

INSTANTIATE_TEST_SUITE_P(Backends, DeviceLostTest, testing::ValuesIn(BackendsUnderTest()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace isocenter::conformance
