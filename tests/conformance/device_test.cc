#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

class DeviceTest : public testing::TestWithParam<std::string> {};

TEST(Devices, AreUnderTest) { EXPECT_FALSE(BackendsUnderTest().empty()); }

TEST_P(DeviceTest, StacksKeepWhatIsUploaded) {
  const auto device = OpenDevice(GetParam());
  for (const ops::StackUse use : {ops::StackUse::kLineIntegrals, ops::StackUse::kProjections}) {
    for (const Shape3 shape : {Shape3{1, 1, 1}, Shape3{3, 17, 33}, Shape3{2, 70, 129}}) {
      const auto stack = NewStack(*device, shape, use);
      EXPECT_EQ(stack->bytes(), device->ProjectionStackBytes(shape, use));
      const Array fresh = Downloaded(*stack);
      for (float value : fresh.values) ASSERT_EQ(value, 0);
      const Array noise = Noise(shape, 1);
      ASSERT_TRUE(stack->Upload(0, noise.view()).ok());
      EXPECT_EQ(Downloaded(*stack).values, noise.values);
      // One view in the middle of others.
      const Array one = Noise({1, shape.middle, shape.fast}, 2);
      ASSERT_TRUE(stack->Upload(shape.slow - 1, one.view()).ok());
      Array last({1, shape.middle, shape.fast});
      ASSERT_TRUE(stack->Download(shape.slow - 1, last.view()).ok());
      EXPECT_EQ(last.values, one.values);
      if (shape.slow > 1) {
        Array first({1, shape.middle, shape.fast});
        ASSERT_TRUE(stack->Download(0, first.view()).ok());
        EXPECT_TRUE(std::equal(first.values.begin(), first.values.end(), noise.values.begin()));
      }
    }
  }
}

TEST_P(DeviceTest, VolumesKeepWhatIsUploaded) {
  const auto device = OpenDevice(GetParam());
  const int sizes[][3] = {{1, 1, 1}, {19, 5, 37}, {70, 3, 65}, {2, 40, 16}};
  for (const auto& n : sizes) {
    const VolumeGrid grid = CenteredGrid(n[0], n[1], n[2], {1, 1, 1});
    const auto volume = NewVolume(*device, grid);
    EXPECT_EQ(volume->bytes(), device->VolumeBytes(grid));
    const Array noise = Noise(grid.shape(), 3);
    ASSERT_TRUE(volume->Upload(0, noise.view()).ok());
    EXPECT_EQ(Downloaded(*volume).values, noise.values);
    if (n[2] > 2) {
      const Array part = Noise({2, n[1], n[0]}, 4);
      ASSERT_TRUE(volume->Upload(1, part.view()).ok());
      Array expected = noise;
      std::copy(part.values.begin(), part.values.end(), expected.view().row(1, 0));
      EXPECT_EQ(Downloaded(*volume).values, expected.values);
      Array back({2, n[1], n[0]});
      ASSERT_TRUE(volume->Download(1, back.view()).ok());
      EXPECT_EQ(back.values, part.values);
    }
    ASSERT_TRUE(volume->Clear().ok());
    for (float value : Downloaded(*volume).values) ASSERT_EQ(value, 0);
  }
}

// Every piece is told of once, when its values are there.
TEST_P(DeviceTest, StartedDownloadsTellWhenSlicesAreThere) {
  const auto device = OpenDevice(GetParam());
  for (const bool urgent : {false, true}) {
    auto session = device->NewSession({.urgent = urgent});
    ASSERT_TRUE(session.ok()) << session.status();
    const VolumeGrid grid = CenteredGrid(61, 47, 50, {1, 1, 1});
    const Array noise = Noise(grid.shape(), 5);
    std::vector<std::atomic<int>> told(grid.nz);
    std::atomic<bool> all_there = true;
    const auto memory = (*session)->NewHostMemory(grid.voxels() * int64_t{sizeof(float)});
    ASSERT_TRUE(memory.ok()) << memory.status();
    const HostView3<float> target(reinterpret_cast<float*>((*memory)->data()), grid.shape());
    std::fill_n(target.data(), grid.voxels(), 7.f);
    const auto volume = NewVolume(**session, grid);
    ASSERT_TRUE(volume->Upload(0, noise.view()).ok());
    for (int64_t first = 0; first < grid.nz; first += 8) {
      const int64_t count = std::min<int64_t>(8, grid.nz - first);
      const HostView3<float> slices = target.slices(first, count);
      ASSERT_TRUE(volume
                      ->StartDownload(first, slices,
                                      [&, first, slices] {
                                        for (int64_t z = 0; z < slices.shape().slow; ++z) {
                                          ++told[first + z];
                                        }
                                        if (!std::equal(slices.span().begin(), slices.span().end(),
                                                        noise.view().row(first, 0))) {
                                          all_there = false;
                                        }
                                      })
                      .ok());
    }
    // Work that is started meanwhile waits for the downloads.
    ASSERT_TRUE(volume->Clear().ok());
    ASSERT_TRUE((*session)->Synchronize().ok());
    for (const std::atomic<int>& count : told) EXPECT_EQ(count, 1);
    EXPECT_TRUE(all_there);
    EXPECT_TRUE(std::equal(noise.values.begin(), noise.values.end(), target.data()));
  }
}

TEST_P(DeviceTest, HostMemoryComesAndGoes) {
  const auto device = OpenDevice(GetParam());
  for (int round = 0; round < 1000; ++round) {
    const int64_t bytes = (int64_t{1} << 16) + 1024 * (round % 7);
    const auto memory = device->NewHostMemory(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    (*memory)->data()[0] = (*memory)->data()[bytes - 1] = std::byte{1};
  }
}

TEST_P(DeviceTest, RefusesWhatDoesNotFit) {
  const auto device = OpenDevice(GetParam());
  const auto stack = NewStack(*device, {2, 4, 5}, ops::StackUse::kProjections);
  const Array wide({2, 4, 6}), many({3, 4, 5});
  EXPECT_EQ(stack->Upload(0, wide.view()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stack->Upload(0, many.view()).code(), absl::StatusCode::kInvalidArgument);
  const Array right({2, 4, 5});
  EXPECT_EQ(stack->Upload(-1, right.view()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stack->Upload(1, right.view()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device->NewProjectionStack({0, 4, 5}, ops::StackUse::kProjections).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(DeviceTest, StopsAtItsMemoryLimit) {
  constexpr int64_t kLimit = int64_t{64} << 20;
  auto device = Backends().OpenDevice(GetParam(), {.memory_bytes = kLimit, .threads = 1});
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->limits().memory_bytes, kLimit);
  const VolumeGrid large = CenteredGrid(512, 512, 512, {1, 1, 1});
  EXPECT_EQ((*device)->NewVolume(large).status().code(), absl::StatusCode::kResourceExhausted);
  // Extents whose product overflows 64 bits.
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_EQ((*device)
                ->NewProjectionStack({kHuge, kHuge, kHuge}, ops::StackUse::kProjections)
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  // Memory comes back with its buffer.
  const VolumeGrid half = CenteredGrid(208, 208, 208, {1, 1, 1});
  for (int repeat = 0; repeat < 4; ++repeat) {
    auto first = (*device)->NewVolume(half);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ((*device)->NewVolume(half).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, DeviceTest, testing::ValuesIn(BackendsUnderTest()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace isocenter::conformance
