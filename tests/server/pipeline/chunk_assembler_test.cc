#include "server/pipeline/chunk_assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "kernels/backends.h"
#include "kernels/base/crc32c.h"
#include "tests/server/fakes/test_scan.h"

namespace isocenter::pipeline {
namespace {

using isocenter::testing::SmallFrame;
using isocenter::testing::SmallRequest;
using ::testing::HasSubstr;

class ChunkAssemblerTest : public ::testing::Test {
 protected:
  recon::ReconstructionPlan Plan() const {
    const AcquisitionRequest request = SmallRequest();
    return *recon::MakePlan(request.acquisition, std::get<VolumeGrid>(request.grid),
                            request.settings, *device_);
  }
  Frame MakeFrame(int index) {
    pixels_ = SmallFrame(plan_.acquisition, index);
    return Frame{.index = static_cast<uint32_t>(index),
                 .pixels = std::as_bytes(std::span(pixels_))};
  }
  absl::Status AddStatus(const Frame& frame) { return assembler_.Add(frame).status(); }

  const std::unique_ptr<ops::Device> device_ =
      *Backends().OpenDevice("reference", {.memory_bytes = 64 << 20});
  const recon::ReconstructionPlan plan_ = Plan();
  ChunkAssembler assembler_{plan_, *ChunkAssembler::Allocate(plan_, *device_)};
  std::string pixels_;
};

TEST_F(ChunkAssemblerTest, ChunksHoldTheFramesInOrder) {
  int chunk = 0;
  for (int view = 0; view < plan_.views(); ++view) {
    auto added = assembler_.Add(MakeFrame(view));
    ASSERT_TRUE(added.ok()) << added.status();
    const bool last_of_chunk =
        view + 1 == plan_.chunks[chunk].first_view + plan_.chunks[chunk].views;
    ASSERT_EQ(added->complete != nullptr, last_of_chunk) << view;
    if (!last_of_chunk) continue;
    EXPECT_EQ(added->complete->chunk, chunk);
    const auto frames = assembler_.View(*added->complete).line_integrals;
    EXPECT_EQ(frames.shape().slow, plan_.chunks[chunk].views);
    for (int i = 0; i < plan_.chunks[chunk].views; ++i) {
      const std::string expected =
          SmallFrame(plan_.acquisition, plan_.chunks[chunk].first_view + i);
      EXPECT_EQ(std::memcmp(frames.row(i, 0), expected.data(), expected.size()), 0);
    }
    EXPECT_FALSE(assembler_.Recycle(std::move(added->complete)));
    ++chunk;
  }
  EXPECT_EQ(chunk, static_cast<int>(plan_.chunks.size()));
  EXPECT_TRUE(assembler_.complete());
}

TEST_F(ChunkAssemblerTest, HasNoRoomWhenAllBuffersAreTaken) {
  ASSERT_GT(static_cast<int>(plan_.chunks.size()), ChunkAssembler::kBuffers);
  std::vector<std::unique_ptr<ChunkBuffer>> held;
  int view = 0;
  bool room = true;
  while (room) {
    auto added = assembler_.Add(MakeFrame(view++));
    ASSERT_TRUE(added.ok());
    room = added->room;
    if (added->complete) held.push_back(std::move(added->complete));
  }
  EXPECT_EQ(static_cast<int>(held.size()), ChunkAssembler::kBuffers);
  EXPECT_EQ(view, plan_.chunks[ChunkAssembler::kBuffers].first_view);
  EXPECT_TRUE(assembler_.Recycle(std::move(held[0])));
  EXPECT_FALSE(assembler_.Recycle(std::move(held[1])));
  for (; !assembler_.complete(); ++view) ASSERT_TRUE(AddStatus(MakeFrame(view)).ok());
}

TEST_F(ChunkAssemblerTest, RefusesFramesOutOfOrder) {
  absl::Status gap = AddStatus(MakeFrame(1));
  EXPECT_EQ(gap.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(gap.message()),
              HasSubstr("frame.index is 1; legal is 0, the next of 40"));
  ASSERT_TRUE(AddStatus(MakeFrame(0)).ok());
  EXPECT_THAT(std::string(AddStatus(MakeFrame(0)).message()), HasSubstr("has arrived already"));
  Frame far = MakeFrame(0);
  far.index = std::numeric_limits<uint32_t>::max();
  EXPECT_EQ(AddStatus(far).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ChunkAssemblerTest, RefusesOtherLengths) {
  Frame frame = MakeFrame(0);
  frame.pixels = frame.pixels.first(frame.pixels.size() - 1);
  EXPECT_THAT(std::string(AddStatus(frame).message()),
              HasSubstr("has 4031 bytes; legal is 4032 (28 rows of 36 columns of 4 bytes)"));
  frame.pixels = {};
  EXPECT_EQ(AddStatus(frame).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ChunkAssemblerTest, VerifiesChecksums) {
  Frame frame = MakeFrame(0);
  frame.crc32c = Crc32c(frame.pixels) ^ 1;
  EXPECT_EQ(AddStatus(frame).code(), absl::StatusCode::kDataLoss);
  frame.crc32c = Crc32c(frame.pixels);
  EXPECT_TRUE(AddStatus(frame).ok());
}

TEST_F(ChunkAssemblerTest, NothingIsLegalAfterTheLastFrame) {
  for (int view = 0; view < plan_.views(); ++view) {
    auto added = assembler_.Add(MakeFrame(view));
    ASSERT_TRUE(added.ok());
    if (added->complete) assembler_.Recycle(std::move(added->complete));
  }
  EXPECT_EQ(AddStatus(MakeFrame(0)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ChunkAssemblerTest, MeasuredMatricesReplaceTheirOwnPlannedOneOnly) {
  ProjectionMatrix shifted = plan_.acquisition.trajectory[1];
  for (int column = 0; column < 4; ++column) shifted.m[column] += 0.25 * shifted(2, column);
  const ProjectionMatrix expected = shifted;
  for (double& value : shifted.m) value *= 3;  // any scale is legal
  std::unique_ptr<ChunkBuffer> chunk;
  for (int view = 0; chunk == nullptr; ++view) {
    Frame frame = MakeFrame(view);
    if (view == 1) frame.measured_matrix = shifted;
    auto added = assembler_.Add(frame);
    ASSERT_TRUE(added.ok()) << added.status();
    chunk = std::move(added->complete);
  }
  ASSERT_EQ(static_cast<int>(chunk->measured.size()), plan_.chunks[0].views);
  EXPECT_EQ(chunk->measured[0], plan_.acquisition.trajectory[0]);
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(chunk->measured[1].m[i], expected.m[i], 1e-12);
}

TEST_F(ChunkAssemblerTest, RefusesImplausibleMeasuredMatrices) {
  const auto status_of = [&](const ProjectionMatrix& matrix) {
    Frame frame = MakeFrame(0);
    frame.measured_matrix = matrix;
    return std::string(AddStatus(frame).message());
  };
  ProjectionMatrix bad = plan_.acquisition.trajectory[0];
  bad.m[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(status_of(bad), HasSubstr("frame.measured_matrix of frame 0"));
  EXPECT_THAT(status_of(ProjectionMatrix{}), HasSubstr("frame.measured_matrix of frame 0"));
  // The opposite side of the orbit.
  EXPECT_THAT(status_of(plan_.acquisition.trajectory[20]),
              HasSubstr("from the planned one; legal is 0 to 100"));
  ProjectionMatrix shifted = plan_.acquisition.trajectory[0];
  for (int column = 0; column < 4; ++column) shifted.m[column] += 10 * shifted(2, column);
  EXPECT_THAT(status_of(shifted), HasSubstr("pixels away from the planned position"));
}

}  // namespace
}  // namespace isocenter::pipeline
