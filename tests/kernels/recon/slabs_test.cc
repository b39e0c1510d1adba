#include "kernels/recon/slabs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ops/session.h"
#include "kernels/recon/slab_turns.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

// A device that only says what things take: float32.
class PaperDevice final : public ops::Device {
 public:
  PaperDevice(int64_t memory_bytes, bool own_memory)
      : limits_{.memory_bytes = memory_bytes},
        traits_{.own_memory = own_memory, .chunk_views = 32, .slab_slices = 16} {}
  absl::string_view backend() const override { return "paper"; }
  std::string description() const override { return "paper"; }
  ops::DeviceLimits limits() const override { return limits_; }
  ops::DeviceTraits traits() const override { return traits_; }
  absl::StatusOr<std::unique_ptr<ops::Session>> NewSession(const ops::SessionOptions&) override {
    return absl::UnimplementedError("paper");
  }
  int64_t ProjectionStackBytes(Shape3 shape, ops::StackUse) const override {
    return shape.count() * 4;
  }
  int64_t VolumeBytes(const VolumeGrid& grid) const override { return grid.voxels() * 4; }

 private:
  const ops::DeviceLimits limits_;
  const ops::DeviceTraits traits_;
};

constexpr int64_t kMiB = 1 << 20;
constexpr int kViews = 496, kChunk = 32, kRows = 960, kColumns = 1248;
// Stacks of a chunk and of a view, and the planes of a preview.
constexpr int64_t kPlanesBytes = int64_t{3} * 256 * 256 * 4;
constexpr int64_t kChunkBytes = int64_t{3} * (kChunk + 1) * kRows * kColumns * 4 + kPlanesBytes;
constexpr int64_t kAllFiltered = int64_t{kViews} * kRows * kColumns * 4;

// For operations as much again as a chunk.
Work WorkOf(const VolumeGrid& grid, int views, const Shape3& chunk, Arrival arrival) {
  return {.grid = grid,
          .views = views,
          .chunk = chunk,
          .arrival = arrival,
          .workspace_bytes = [](const ops::Device&, const ops::Extents& extents) {
            return extents.stack.count() * 4;
          }};
}

absl::StatusOr<Division> DivideCube(int size, std::vector<const ops::Device*> devices,
                                    Arrival arrival) {
  return DivideVolume(
      WorkOf(CenteredGrid(size, size, size, {1, 1, 1}), kViews, {kChunk, kRows, kColumns}, arrival),
      devices);
}

// What the division promises, whatever it is.
void ExpectSound(const Division& division, int slices, int64_t limit, int64_t slice_bytes) {
  int next = 0, largest = 0, on_device = 0, device = 0;
  for (const Slab& slab : division.slabs) {
    EXPECT_EQ(slab.first_slice, next);
    EXPECT_GE(slab.slices, 1);
    EXPECT_GE(slab.device, device);
    if (slab.device != device) on_device = 0;
    device = slab.device;
    next += slab.slices;
    on_device += slab.slices;
    largest = std::max(largest, division.order == Order::kChunksFirst
                                    ? on_device
                                    : std::min(2 * slab.slices, slices));
  }
  EXPECT_EQ(next, slices);
  EXPECT_LE(division.peak_bytes, limit);
  EXPECT_GE(division.peak_bytes,
            kChunkBytes + (division.keep_projections ? kAllFiltered : 0) + largest * slice_bytes);
}

std::vector<int> SlicesOf(const std::vector<Slab>& slabs) {
  std::vector<int> slices;
  for (const Slab& slab : slabs) slices.push_back(slab.slices);
  return slices;
}

TEST(SlabOfTurn, EverySlabHasATurnAndTheMiddleTheFirst) {
  const std::vector<std::vector<Slab>> all = {{{0, 7, 5}},
                                              {{0, 0, 4}, {0, 4, 4}},
                                              {{0, 0, 4}, {0, 4, 1}},
                                              {{0, 9, 4}, {0, 13, 4}, {0, 17, 4}},
                                              {{0, 0, 4}, {0, 4, 4}, {0, 8, 4}, {0, 12, 1}}};
  const size_t first[] = {0, 1, 0, 1, 1};
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<size_t> turns;
    for (size_t turn = 0; turn < all[i].size(); ++turn) turns.push_back(SlabOfTurn(all[i], turn));
    EXPECT_EQ(turns[0], first[i]) << i;
    std::ranges::sort(turns);
    for (size_t slab = 0; slab < turns.size(); ++slab) EXPECT_EQ(turns[slab], slab) << i;
  }
}

TEST(DivideVolume, TheLastSlabIsSmallWhereItCostsNoFrames) {
  const PaperDevice gpu(80000 * kMiB, true);
  // 16 GiB a slab, 16 MiB a slice: no less than the sixteen slices that kernels work on.
  const auto large = DivideCube(2048, {&gpu}, Arrival::kComplete);
  ASSERT_TRUE(large.ok());
  EXPECT_TRUE(large->keep_projections);
  EXPECT_THAT(SlicesOf(large->slabs), ::testing::ElementsAre(512, 256, 128, 64, 32, 16, 16, 1024));
  ExpectSound(*large, 2048, 80000 * kMiB, 16 * kMiB);
  EXPECT_THAT(SlicesOf(DivideCube(512, {&gpu}, Arrival::kComplete)->slabs),
              ::testing::ElementsAre(128, 64, 32, 16, 16, 256));
  // 64 MiB are downloaded at once.
  EXPECT_THAT(SlicesOf(DivideCube(256, {&gpu}, Arrival::kComplete)->slabs),
              ::testing::ElementsAre(256));
  const PaperDevice small(2048 * kMiB, true);
  const auto again = DivideCube(1024, {&small}, Arrival::kComplete);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->keep_projections);
  for (size_t i = 1; i + 1 < again->slabs.size(); ++i) {
    EXPECT_EQ(again->slabs[i].slices, again->slabs[0].slices);
  }
}

TEST(DivideVolume, HostMemoryIsNotDivided) {
  const PaperDevice cpu(8192 * kMiB, /*own_memory=*/false);
  const auto division = DivideCube(1024, {&cpu}, Arrival::kComplete);
  ASSERT_TRUE(division.ok()) << division.status();
  EXPECT_EQ(division->order, Order::kChunksFirst);
  EXPECT_THAT(division->slabs, ::testing::ElementsAre(Slab{0, 0, 1024}));
  const PaperDevice small(2048 * kMiB, /*own_memory=*/false);
  EXPECT_THAT(
      std::string(DivideCube(1024, {&small}, Arrival::kComplete).status().message()),
      HasSubstr("a volume of 1024x1024x1024 needs 4.429 GiB of memory; the limit is 2 GiB"));
}

TEST(DivideVolume, ALargeDeviceKeepsTheProjectionsOnlyWhenAllFramesAreThere) {
  const PaperDevice gpu(80000 * kMiB, true);
  const auto complete = DivideCube(1024, {&gpu}, Arrival::kComplete);
  ASSERT_TRUE(complete.ok());
  EXPECT_EQ(complete->order, Order::kSlabsFirst);
  EXPECT_TRUE(complete->keep_projections);
  // Two of 512 slices; the last to be worked on is halved down to 16 slices.
  EXPECT_THAT(SlicesOf(complete->slabs), ::testing::ElementsAre(256, 128, 64, 32, 16, 16, 512));
  EXPECT_EQ(SlabOfTurn(complete->slabs, 0), 6u);
  EXPECT_EQ(SlabOfTurn(complete->slabs, 6), 5u);
  ExpectSound(*complete, 1024, 80000 * kMiB, 4 * kMiB);
  const auto streamed = DivideCube(1024, {&gpu}, Arrival::kStreamed);
  EXPECT_EQ(streamed->order, Order::kChunksFirst);
  ExpectSound(*streamed, 1024, 80000 * kMiB, 4 * kMiB);
}

TEST(DivideVolume, ASmallDeviceTakesTheVolumeInParts) {
  for (const int64_t limit : {1024 * kMiB, 2048 * kMiB, 4096 * kMiB}) {
    const PaperDevice gpu(limit, true);
    for (const Arrival arrival : {Arrival::kStreamed, Arrival::kComplete}) {
      const auto division = DivideCube(1024, {&gpu}, arrival);
      ASSERT_TRUE(division.ok()) << division.status();
      EXPECT_EQ(division->order, Order::kSlabsFirst);
      ExpectSound(*division, 1024, limit, 4 * kMiB);
    }
  }
  // Two slabs of one slice take 8 MiB.
  const PaperDevice tight(kChunkBytes + 8 * kMiB, true);
  const auto slices = DivideCube(1024, {&tight}, Arrival::kStreamed);
  ASSERT_TRUE(slices.ok()) << slices.status();
  EXPECT_EQ(slices->slabs.size(), 1024u);
  const PaperDevice hopeless(kChunkBytes + 8 * kMiB - 1, true);
  EXPECT_EQ(DivideCube(1024, {&hopeless}, Arrival::kStreamed).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(DivideVolume, DevicesShareEvenly) {
  const PaperDevice a(80000 * kMiB, true), b(80000 * kMiB, true), c(80000 * kMiB, true);
  const auto division = DivideCube(1000, {&a, &b, &c}, Arrival::kComplete);
  ASSERT_TRUE(division.ok());
  ExpectSound(*division, 1000, 80000 * kMiB, int64_t{1000} * 1000 * 4);
  int slices[3] = {};
  for (const Slab& slab : division->slabs) slices[slab.device] += slab.slices;
  EXPECT_THAT(slices, ::testing::ElementsAre(336, 336, 328));
  // Fewer slices than devices: some have nothing to do.
  const auto flat =
      DivideVolume(WorkOf(CenteredGrid(8, 8, 1, {1, 1, 1}), 4, {4, 8, 8}, Arrival::kComplete),
                   std::vector<const ops::Device*>{&a, &b});
  ASSERT_TRUE(flat.ok());
  EXPECT_THAT(flat->slabs, ::testing::ElementsAre(Slab{0, 0, 1}));
}

}  // namespace
}  // namespace isocenter::recon
