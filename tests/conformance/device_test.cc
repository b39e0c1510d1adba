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
  const auto session = OpenSession(GetParam());
  for (const ops::StackUse use : {ops::StackUse::kLineIntegrals, ops::StackUse::kProjections}) {
    for (const Shape3 shape : {Shape3{1, 1, 1}, Shape3{3, 17, 33}, Shape3{2, 70, 129}}) {
      const auto stack = NewStack(*session, shape, use);
      EXPECT_EQ(stack->bytes(), session->device().ProjectionStackBytes(shape, use));
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
  const auto session = OpenSession(GetParam());
  const int sizes[][3] = {{1, 1, 1}, {19, 5, 37}, {70, 3, 65}, {2, 40, 16}};
  for (const auto& n : sizes) {
    const VolumeGrid grid = CenteredGrid(n[0], n[1], n[2], {1, 1, 1});
    const auto volume = NewVolume(*session, grid);
    EXPECT_EQ(volume->bytes(), session->device().VolumeBytes(grid));
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
    const auto memory = device->NewHostMemory(grid.voxels() * int64_t{sizeof(float)});
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

// Uploads and downloads that go on, one after the other on the same buffer, take turns.
template <class Buffer>
void ExpectTurns(ops::Session& session, Buffer& buffer, Shape3 shape) {
  const auto memory = session.device().NewHostMemory(3 * shape.count() * int64_t{sizeof(float)});
  ASSERT_TRUE(memory.ok()) << memory.status();
  auto* const values = reinterpret_cast<float*>((*memory)->data());
  const HostView3<float> first(values, shape), second(values + shape.count(), shape);
  const HostView3<float> back(values + 2 * shape.count(), shape);
  const Array a = Noise(shape, 6), b = Noise(shape, 7);
  std::copy(a.values.begin(), a.values.end(), first.data());
  std::copy(b.values.begin(), b.values.end(), second.data());
  std::atomic<int> told = 0;
  ASSERT_TRUE(buffer.StartUpload(0, first).ok());
  ASSERT_TRUE(buffer.StartDownload(0, back, [&] { ++told; }).ok());
  // Over what is still being downloaded, but for the first slice or view.
  ASSERT_TRUE(buffer.StartUpload(1, second.slices(1, shape.slow - 1)).ok());
  const Array now = Downloaded(buffer);
  ASSERT_TRUE(session.Synchronize().ok());
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), back.data()));
  const int64_t slice = shape.middle * shape.fast;
  EXPECT_TRUE(std::equal(a.values.begin(), a.values.begin() + slice, now.values.begin()));
  EXPECT_TRUE(std::equal(b.values.begin() + slice, b.values.end(), now.values.begin() + slice));
  const Array wide({shape.slow, shape.middle, shape.fast + 1});
  EXPECT_EQ(buffer.StartUpload(0, wide.view()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(buffer.StartUpload(1, first).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(DeviceTest, StartedUploadsAndDownloadsTakeTurns) {
  const auto session = OpenSession(GetParam());
  const VolumeGrid grid = CenteredGrid(301, 207, 50, {1, 1, 1});
  ExpectTurns(*session, *NewVolume(*session, grid), grid.shape());
  for (const ops::StackUse use : {ops::StackUse::kLineIntegrals, ops::StackUse::kProjections}) {
    const Shape3 shape{40, 251, 333};
    ExpectTurns(*session, *NewStack(*session, shape, use), shape);
  }
}

// What goes back while the memory is used for another grid already is what was there.
TEST_P(DeviceTest, VolumesAreReshapedWhileTheyAreDownloaded) {
  const auto session = OpenSession(GetParam());
  const VolumeGrid large = CenteredGrid(301, 207, 50, {1, 1, 1}),
                   small = CenteredGrid(299, 207, 31, {1, 2, 1});
  const auto volume = NewVolume(*session, large);
  const auto memory =
      session->device().NewHostMemory((large.voxels() + small.voxels()) * sizeof(float));
  ASSERT_TRUE(memory.ok()) << memory.status();
  auto* const values = reinterpret_cast<float*>((*memory)->data());
  const HostView3<float> back(values, large.shape());
  const HostView3<float> next(values + large.voxels(), small.shape());
  const Array a = Noise(large.shape(), 8), b = Noise(small.shape(), 9);
  std::copy(b.values.begin(), b.values.end(), next.data());
  ASSERT_TRUE(volume->Upload(0, a.view()).ok());
  ASSERT_TRUE(volume->StartDownload(0, back).ok());
  ASSERT_TRUE(volume->Reshape(small).ok());
  ASSERT_TRUE(volume->StartUpload(0, next).ok());
  EXPECT_EQ(volume->grid().spacing, small.spacing);
  EXPECT_EQ(Downloaded(*volume).values, b.values);
  ASSERT_TRUE(session->Synchronize().ok());
  EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), back.data()));
  EXPECT_EQ(volume->Reshape(CenteredGrid(302, 1, 1, {1, 1, 1})).code(),
            absl::StatusCode::kInvalidArgument);
}

// Work that is started on a buffer meanwhile sees what is uploaded, and work that was started
// before does not.
TEST_P(DeviceTest, StartedUploadsWaitForWorkAndWorkForThem) {
  if (absl::IsNotFound(AllMethods().arithmetic.Find(GetParam()).status())) {
    GTEST_SKIP() << GetParam() << " has no arithmetic";
  }
  const auto session = OpenSession(GetParam());
  const auto arithmetic = (*AllMethods().arithmetic.Find(GetParam()))(*session);
  ASSERT_TRUE(arithmetic.ok()) << arithmetic.status();
  const VolumeGrid grid = CenteredGrid(301, 207, 50, {1, 1, 1});
  const auto x = NewVolume(*session, grid), sum = NewVolume(*session, grid);
  const auto memory = session->device().NewHostMemory(grid.voxels() * int64_t{sizeof(float)});
  ASSERT_TRUE(memory.ok()) << memory.status();
  const HostView3<float> host(reinterpret_cast<float*>((*memory)->data()), grid.shape());
  std::fill_n(host.data(), grid.voxels(), 3.f);
  ASSERT_TRUE((*arithmetic)->Fill(1, *x).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((*arithmetic)->Axpby(1, *x, 1, *sum).ok());
  ASSERT_TRUE(x->StartUpload(0, host).ok());
  ASSERT_TRUE((*arithmetic)->Axpby(1, *x, 1, *sum).ok());
  const Array result = Downloaded(*sum);
  ASSERT_TRUE(session->Synchronize().ok());
  for (const float value : result.values) ASSERT_EQ(value, 23);
}

TEST_P(DeviceTest, HostMemoryComesAndGoes) {
  const auto session = OpenSession(GetParam());
  for (int round = 0; round < 1000; ++round) {
    const int64_t bytes = (int64_t{1} << 16) + 1024 * (round % 7);
    const auto memory = session->device().NewHostMemory(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    (*memory)->data()[0] = (*memory)->data()[bytes - 1] = std::byte{1};
  }
}

TEST_P(DeviceTest, RefusesWhatDoesNotFit) {
  const auto session = OpenSession(GetParam());
  const auto stack = NewStack(*session, {2, 4, 5}, ops::StackUse::kProjections);
  const Array wide({2, 4, 6}), many({3, 4, 5});
  EXPECT_EQ(stack->Upload(0, wide.view()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stack->Upload(0, many.view()).code(), absl::StatusCode::kInvalidArgument);
  const Array right({2, 4, 5});
  EXPECT_EQ(stack->Upload(-1, right.view()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stack->Upload(1, right.view()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session->NewProjectionStack({0, 4, 5}, ops::StackUse::kProjections).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(DeviceTest, StopsAtItsMemoryLimit) {
  constexpr int64_t kLimit = int64_t{64} << 20;
  const auto session =
      isocenter::OpenSession(AllMethods(), GetParam(), {.memory_bytes = kLimit, .threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->device().limits().memory_bytes, kLimit);
  const VolumeGrid large = CenteredGrid(512, 512, 512, {1, 1, 1});
  EXPECT_EQ((*session)->NewVolume(large).status().code(), absl::StatusCode::kResourceExhausted);
  // Extents whose product overflows 64 bits.
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_EQ((*session)
                ->NewProjectionStack({kHuge, kHuge, kHuge}, ops::StackUse::kProjections)
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  // Memory comes back with its buffer.
  const VolumeGrid half = CenteredGrid(208, 208, 208, {1, 1, 1});
  for (int repeat = 0; repeat < 4; ++repeat) {
    auto first = (*session)->NewVolume(half);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ((*session)->NewVolume(half).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, DeviceTest, testing::ValuesIn(BackendsUnderTest()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace isocenter::conformance
