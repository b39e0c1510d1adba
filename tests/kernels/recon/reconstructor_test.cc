#include "kernels/recon/reconstructor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  ASSERT_TRUE(reconstructor->Finish().ok());
  for (int z = 0; z < plan_.grid.nz; ++z) {  // slice by slice, as the exporter reads
    ASSERT_TRUE(
        reconstructor->ReadSlices(z, HostView3<float>(streamed.data() + z * 81, {1, 9, 9})).ok());
  }
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
  ASSERT_TRUE(reconstructor->Finish().ok());
  std::vector<float> shifted(plan_.grid.voxels()), plain(plan_.grid.voxels());
  ASSERT_TRUE(
      reconstructor->ReadSlices(0, HostView3<float>(shifted.data(), plan_.grid.shape())).ok());
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
  EXPECT_EQ(reconstructor->Finish().code(), absl::StatusCode::kFailedPrecondition);
  std::vector<float> volume(plan_.grid.voxels());
  EXPECT_EQ(
      reconstructor->ReadSlices(0, HostView3<float>(volume.data(), plan_.grid.shape())).code(),
      absl::StatusCode::kFailedPrecondition);
  for (const Chunk& chunk : plan_.chunks) ASSERT_TRUE(reconstructor->Push(Frames(chunk)).ok());
  EXPECT_EQ(reconstructor->Push(Frames(plan_.chunks[0])).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(reconstructor->Finish().ok());
  EXPECT_EQ(reconstructor->Finish().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace isocenter::recon
