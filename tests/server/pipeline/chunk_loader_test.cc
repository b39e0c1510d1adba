#include "server/pipeline/runs/chunk_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/server/fakes/spooled_frames.h"
#include "tests/server/fakes/test_scan.h"

namespace isocenter::pipeline {
namespace {

using isocenter::testing::SmallFrame;
using isocenter::testing::SmallRequest;
using isocenter::testing::SpooledFrames;

class ChunkLoaderTest : public ::testing::Test {
 protected:
  /// Loads views that stand one after the other.
  std::string Load(std::vector<ViewSource> sources) {
    std::string pixels(sources.size() * FrameBytes(request_.acquisition), 'x');
    const absl::Status status = LoadChunk(*spooled_.spool, request_.acquisition, sources,
                                          std::as_writable_bytes(std::span(pixels)), measured_);
    EXPECT_TRUE(status.ok()) << status;
    return pixels;
  }
  float ValueAt(const std::string& pixels, size_t i) {
    float value;
    std::memcpy(&value, pixels.data() + i * sizeof(value), sizeof(value));
    return value;
  }

  const AcquisitionRequest request_ = SmallRequest();
  SpooledFrames spooled_{request_.acquisition};
  Measured measured_;
};

TEST_F(ChunkLoaderTest, LoadsFramesAsTheyWereSent) {
  spooled_.Add(3);
  spooled_.Add(4);
  EXPECT_EQ(Load({{.view = 3, .frame = 3}, {.view = 4, .frame = 4}}),
            SmallFrame(request_.acquisition, 3) + SmallFrame(request_.acquisition, 4));
  EXPECT_TRUE(measured_.matrices.empty());
}

TEST_F(ChunkLoaderTest, MeasuredMatricesReplaceThePlannedOnesOfTheirFrames) {
  ProjectionMatrix measured = request_.acquisition.trajectory[4];
  measured.m[3] += 1;
  spooled_.Add(3);
  spooled_.Add(4, measured);
  spooled_.Add(5);
  Load({{.view = 3, .frame = 3}, {.view = 4, .frame = 4}, {.view = 5, .frame = 5}});
  ASSERT_EQ(measured_.matrices.size(), 3u);
  EXPECT_EQ(measured_.matrices[0].m, request_.acquisition.trajectory[3].m);
  EXPECT_EQ(measured_.matrices[1].m, measured.m);
  EXPECT_EQ(measured_.matrices[2].m, request_.acquisition.trajectory[5].m);
}

TEST_F(ChunkLoaderTest, DosesGoWithTheFramesThatToldThem) {
  spooled_.Add(3);
  spooled_.Add(4, std::nullopt, 1.25F);
  spooled_.Add(5, std::nullopt, 0.75F);
  Load({{.view = 3, .frame = 3}});
  EXPECT_TRUE(measured_.doses.empty());
  // View 6 has the nearest frame's pixels, 7 a blend of two that told it, 8 of one that did not.
  Load({{.view = 3, .frame = 3},
        {.view = 4, .frame = 4},
        {.view = 5, .frame = 5},
        {.view = 6, .frame = 5, .own_matrix = false},
        {.view = 7, .frame = 4, .blended_with = 5, .weight = 0.5F, .own_matrix = false},
        {.view = 8, .frame = 4, .blended_with = 3, .weight = 0.5F, .own_matrix = false}});
  EXPECT_THAT(measured_.doses, ::testing::ElementsAre(0, 1.25F, 0.75F, 0.75F, 1, 0));
  EXPECT_TRUE(measured_.matrices.empty());
}

TEST_F(ChunkLoaderTest, BlendsPixelByPixelWithThePlannedMatrix) {
  spooled_.Add(2);
  spooled_.Add(6);
  const std::string blended =
      Load({{.view = 3, .frame = 2, .blended_with = 6, .weight = 0.25F, .own_matrix = false}});
  const std::string a = SmallFrame(request_.acquisition, 2),
                    b = SmallFrame(request_.acquisition, 6);
  for (const size_t i : {0, 500, 1007}) {
    EXPECT_NEAR(ValueAt(blended, i), 0.75F * ValueAt(a, i) + 0.25F * ValueAt(b, i), 1e-6);
  }
  EXPECT_TRUE(measured_.matrices.empty());
}

TEST_F(ChunkLoaderTest, CountsAreBlendedAndRounded) {
  const AcquisitionRequest request = SmallRequest(recon::PixelType::kUint16Counts);
  SpooledFrames spooled(request.acquisition);
  spooled.Add(0);
  spooled.Add(2);
  std::string pixels(FrameBytes(request.acquisition), 'x');
  const ViewSource source{
      .view = 1, .frame = 0, .blended_with = 2, .weight = 0.5F, .own_matrix = false};
  ASSERT_TRUE(LoadChunk(*spooled.spool, request.acquisition, {&source, 1},
                        std::as_writable_bytes(std::span(pixels)), measured_)
                  .ok());
  const std::string a = SmallFrame(request.acquisition, 0), b = SmallFrame(request.acquisition, 2);
  for (size_t i = 0; i < pixels.size(); i += sizeof(uint16_t)) {
    uint16_t x, y, z;
    std::memcpy(&x, &a[i], sizeof(x));
    std::memcpy(&y, &b[i], sizeof(y));
    std::memcpy(&z, &pixels[i], sizeof(z));
    ASSERT_EQ(z, (x + y + 1) / 2) << i;
  }
}

TEST_F(ChunkLoaderTest, TheNearestFrameComesWithItsOwnMatrix) {
  spooled_.Add(2);
  EXPECT_EQ(Load({{.view = 2, .frame = 2}, {.view = 3, .frame = 2}}),
            SmallFrame(request_.acquisition, 2) + SmallFrame(request_.acquisition, 2));
  ASSERT_EQ(measured_.matrices.size(), 2u);
  EXPECT_EQ(measured_.matrices[0].m, request_.acquisition.trajectory[2].m);
  EXPECT_EQ(measured_.matrices[1].m, request_.acquisition.trajectory[2].m);
}

TEST_F(ChunkLoaderTest, AFrameThatIsNotThereIsAnError) {
  std::string pixels(FrameBytes(request_.acquisition), 'x');
  const ViewSource source{.view = 7, .frame = 7};
  EXPECT_EQ(LoadChunk(*spooled_.spool, request_.acquisition, {&source, 1},
                      std::as_writable_bytes(std::span(pixels)), measured_)
                .code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace isocenter::pipeline
