#include "kernels/recon/reconstructor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/reference/register.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

constexpr int kViews = 40, kColumns = 24, kRows = 16;
constexpr double kMuWater = 0.02, kRadius = 24;  // 1/mm, mm

// Line integrals of a centred ball of water.
std::vector<float> BallFrames(const Acquisition& acquisition) {
  std::vector<float> frames;
  for (const ProjectionMatrix& matrix : acquisition.trajectory) {
    const Vec3 source = Decompose(matrix)->source;
    const auto inverse = InverseLeft(matrix);
    for (int v = 0; v < kRows; ++v) {
      for (int u = 0; u < kColumns; ++u) {
        const Vec3 ray{inverse[0] * u + inverse[1] * v + inverse[2],
                       inverse[3] * u + inverse[4] * v + inverse[5],
                       inverse[6] * u + inverse[7] * v + inverse[8]};
        const Vec3 unit = (1 / Norm(ray)) * ray;
        const double closest2 = Dot(source, source) - Dot(source, unit) * Dot(source, unit);
        const double half2 = kRadius * kRadius - closest2;
        frames.push_back(half2 > 0 ? static_cast<float>(kMuWater * 2 * std::sqrt(half2)) : 0.f);
      }
    }
  }
  return frames;
}

class ReconstructorTest : public ::testing::Test {
 protected:
  ReconstructorTest() {
    reference::Register(registry_);
    device_ = *registry_.OpenDevice("reference", {});
    Acquisition acquisition{
        .detector = {.columns = kColumns, .rows = kRows, .pitch_u_mm = 5, .pitch_v_mm = 5},
        .pixel_type = PixelType::kFloat32LineIntegrals};
    acquisition.trajectory = *MakeCircularOrbit({.views = kViews,
                                                 .source_to_isocenter_mm = 750,
                                                 .source_to_detector_mm = 1200,
                                                 .arc = 2 * kPi * (kViews - 1) / kViews},
                                                acquisition.detector);
    frames_ = BallFrames(acquisition);
    plan_ = *MakePlan(acquisition, CenteredGrid(9, 9, 5, {4, 4, 4}), {.mu_water_per_mm = kMuWater},
                      *device_);
  }

  ops::RawFrames Frames(const Chunk& chunk) const {
    const HostView3<const float> all(frames_.data(), {kViews, kRows, kColumns});
    return {.line_integrals = all.slices(chunk.first_view, chunk.views)};
  }

  ops::Registry registry_;
  std::unique_ptr<ops::Device> device_;
  std::vector<float> frames_;
  ReconstructionPlan plan_;
};

TEST_F(ReconstructorTest, ABallOfWaterHasTheAttenuationOfWater) {
  std::vector<float> volume(plan_.grid.voxels());
  const auto seconds = ReconstructAll(plan_, registry_, *device_, Frames({0, kViews}),
                                      HostView3<float>(volume.data(), plan_.grid.shape()));
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_GT(seconds->backproject, 0);
  // Pixels of 3 mm at the isocentre see a ball of 48 mm: a few percent of error are the sampling's.
  // Without the pixel pitch, the redundancy of one half or the distance weight the value would be
  // wrong by a factor.
  const HostView3<const float> view(volume.data(), plan_.grid.shape());
  EXPECT_NEAR(view(2, 4, 4), 0, 40);
  EXPECT_NEAR(view(2, 4, 6), 0, 40);
  EXPECT_NEAR(view(1, 2, 4), 0, 40);
}

TEST_F(ReconstructorTest, StreamedEqualsBatchBitForBit) {
  std::vector<float> batch(plan_.grid.voxels()), streamed(plan_.grid.voxels(), -1);
  ASSERT_TRUE(ReconstructAll(plan_, registry_, *device_, Frames({0, kViews}),
                             HostView3<float>(batch.data(), plan_.grid.shape()))
                  .ok());
  auto reconstructor = *Reconstructor::Create(plan_, registry_, *device_);
  for (const Chunk& chunk : plan_.chunks) ASSERT_TRUE(reconstructor->Push(Frames(chunk)).ok());
  ASSERT_TRUE(reconstructor->Finish({streamed.data(), plan_.grid.shape()}).ok());
  EXPECT_EQ(batch, streamed);
}

TEST_F(ReconstructorTest, MeasuredMatricesReplaceThePlannedOnes) {
  // The object stays, the arm was measured to be shifted by 4 mm along z: the reconstruction shifts
  // with it.
  auto reconstructor = *Reconstructor::Create(plan_, registry_, *device_);
  for (const Chunk& chunk : plan_.chunks) {
    std::vector<ProjectionMatrix> measured(
        plan_.acquisition.trajectory.begin() + chunk.first_view,
        plan_.acquisition.trajectory.begin() + chunk.first_view + chunk.views);
    for (ProjectionMatrix& matrix : measured) {
      for (int row = 0; row < 3; ++row) matrix.m[row * 4 + 3] -= 4 * matrix.m[row * 4 + 2];
    }
    ASSERT_TRUE(reconstructor->Push(Frames(chunk), measured).ok());
  }
  std::vector<float> shifted(plan_.grid.voxels()), plain(plan_.grid.voxels());
  ASSERT_TRUE(reconstructor->Finish({shifted.data(), plan_.grid.shape()}).ok());
  ASSERT_TRUE(ReconstructAll(plan_, registry_, *device_, Frames({0, kViews}),
                             HostView3<float>(plain.data(), plan_.grid.shape()))
                  .ok());
  // Shifted by one voxel; the cosine weights were computed with the shifted matrices, hence equal
  // up to rounding.
  for (int i = 0; i < 4 * 81; ++i) ASSERT_NEAR(shifted[i + 81], plain[i], 1e-2) << i;
}

TEST_F(ReconstructorTest, RefusesWrongShapesTypesAndOrder) {
  auto reconstructor = *Reconstructor::Create(plan_, registry_, *device_);
  EXPECT_THAT(reconstructor->Push(Frames({0, 3})).message(),
              HasSubstr("frames have shape 3x16x24; expected 16x16x24"));
  std::vector<uint16_t> counts(16 * kRows * kColumns);
  EXPECT_THAT(
      reconstructor
          ->Push({.counts = HostView3<const uint16_t>(counts.data(), {16, kRows, kColumns})})
          .message(),
      HasSubstr("pixel type"));
  std::vector<float> volume(plan_.grid.voxels()), small(81);
  const HostView3<float> view(volume.data(), plan_.grid.shape());
  EXPECT_THAT(reconstructor->Finish(view).message(), HasSubstr("only 0 of"));
  for (const Chunk& chunk : plan_.chunks) ASSERT_TRUE(reconstructor->Push(Frames(chunk)).ok());
  EXPECT_EQ(reconstructor->Push(Frames(plan_.chunks[0])).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(reconstructor->Finish({small.data(), {1, 9, 9}}).message(),
              HasSubstr("slices have shape 1x9x9; expected 5x9x9"));
  EXPECT_TRUE(reconstructor->Finish(view).ok());
  EXPECT_EQ(reconstructor->Finish(view).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ReconstructorTest, ServesAnotherAcquisitionAfterTheFirst) {
  auto reconstructor = *Reconstructor::Create(plan_, registry_, *device_);
  std::vector<float> first(plan_.grid.voxels()), second(plan_.grid.voxels());
  ASSERT_TRUE(reconstructor->Run(Frames({0, kViews}), {first.data(), plan_.grid.shape()}).ok());
  ASSERT_TRUE(reconstructor->Run(Frames({0, kViews}), {second.data(), plan_.grid.shape()}).ok());
  EXPECT_EQ(first, second);
  EXPECT_GT(first[2 * 81 + 4 * 9 + 4], first[0] + 500);  // not two empty volumes
}

// Frames that are cut out of larger ones, and whose copies are kept for the second slab.
TEST_F(ReconstructorTest, FramesNeedNotBeDense) {
  std::vector<float> dense(plan_.grid.voxels()), cut(plan_.grid.voxels());
  plan_.slabs = {{0, 0, 3}, {0, 3, 2}};
  plan_.order = Order::kSlabsFirst;
  plan_.keep_projections = false;
  plan_.kept_frames_bytes = int64_t{kViews} * kRows * kColumns * 4;
  constexpr int kAbove = 2, kBelow = 3, kAllRows = kAbove + kRows + kBelow;
  auto reconstructor = *Reconstructor::Create(plan_, registry_, *device_);
  ASSERT_TRUE(reconstructor->Run(Frames({0, kViews}), {dense.data(), plan_.grid.shape()}).ok());
  for (const Chunk& chunk : plan_.chunks) {
    std::vector<float> larger(chunk.views * kAllRows * kColumns, 1e9f);
    const HostView3<float> view(larger.data(), {chunk.views, kAllRows, kColumns});
    for (int i = 0; i < chunk.views; ++i) {
      std::copy_n(Frames(chunk).line_integrals.row(i, 0), kRows * kColumns, view.row(i, kAbove));
    }
    ASSERT_TRUE(reconstructor->Push({.line_integrals = view.rows(kAbove, kRows)}).ok());
  }
  ASSERT_TRUE(reconstructor->Finish({cut.data(), plan_.grid.shape()}).ok());
  EXPECT_EQ(cut, dense);
}

// However the work is ordered and divided, streamed or not, the volume is the same.
TEST_F(ReconstructorTest, SlabsAndDevicesMakeNoDifference) {
  std::vector<float> whole(plan_.grid.voxels());
  ASSERT_TRUE(ReconstructAll(plan_, registry_, *device_, Frames({0, kViews}),
                             {whole.data(), plan_.grid.shape()})
                  .ok());
  const auto second_device = *registry_.OpenDevice("reference", {});
  ops::Device* const devices[] = {device_.get(), second_device.get()};
  plan_.slabs = {{0, 0, 2}, {0, 2, 1}, {1, 3, 1}, {1, 4, 1}};
  for (const auto& [order, keep] :
       {std::pair(Order::kChunksFirst, false), std::pair(Order::kSlabsFirst, true),
        std::pair(Order::kSlabsFirst, false)}) {
    plan_.order = order;
    plan_.keep_projections = keep;
    plan_.kept_frames_bytes = int64_t{kViews} * kRows * kColumns * 4;
    auto reconstructor = *Reconstructor::Create(plan_, registry_, devices);
    std::vector<float> streamed(plan_.grid.voxels()), complete(plan_.grid.voxels());
    for (const Chunk& chunk : plan_.chunks) {
      // The caller's memory is its own again after the call.
      const float* const first = Frames(chunk).line_integrals.row(0, 0);
      std::vector<float> pixels(first, first + chunk.views * kRows * kColumns);
      const HostView3<const float> view(pixels.data(), {chunk.views, kRows, kColumns});
      ASSERT_TRUE(reconstructor->Push({.line_integrals = view}).ok());
      std::fill(pixels.begin(), pixels.end(), 1e9f);
    }
    ASSERT_TRUE(reconstructor->Finish({streamed.data(), plan_.grid.shape()}).ok());
    ASSERT_TRUE(
        reconstructor->Run(Frames({0, kViews}), {complete.data(), plan_.grid.shape()}).ok());
    EXPECT_EQ(streamed, complete);
    for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(streamed[i], whole[i], 1e-3) << i;
    const auto trace = reconstructor->TakeTrace();
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(std::count_if(trace->begin(), trace->end(),
                            [](const DeviceSpan& span) {
                              return span.span.stage == ops::Stage::kDownload && span.device == 1;
                            }),
              4);  // two slabs, twice
  }
}

TEST_F(ReconstructorTest, APlanForMoreDevicesThanThereAreIsRefused) {
  plan_.slabs = {{0, 0, 3}, {1, 3, 2}};
  EXPECT_EQ(Reconstructor::Create(plan_, registry_, *device_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::recon
