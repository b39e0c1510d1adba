// In which order images are back-projected makes no difference to the volume.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/geometry/trajectory.h"
#include "kernels/rabbitct/benchmark_run.h"
#include "kernels/rabbitct/streamed_volume.h"
#include "tests/all_methods.h"
#include "tests/opened_session.h"

namespace isocenter::rabbitct {
namespace {

constexpr Detector kDetector{.columns = 47, .rows = 39, .pitch_u_mm = 6, .pitch_v_mm = 6};
constexpr int kViews = 71, kEdge = 21;
constexpr double kMm = 9;

std::vector<float> Noise() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> images(size_t{kViews} * kDetector.columns * kDetector.rows);
  for (float& pixel : images) pixel = normal(random);
  return images;
}

Trajectory Orbit() {
  return *MakeCircularOrbit(
      {.views = kViews, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 3.5},
      kDetector);
}

Problem ProblemOf(unsigned images_at_once, bool streamed) {
  return {.voxels_per_edge = kEdge,
          .columns = kDetector.columns,
          .rows = kDetector.rows,
          .voxel_mm = kMm,
          .first_voxel_mm = -0.5 * kMm * (kEdge - 1),
          .backend = "cpu",
          .images_at_once = images_at_once,
          .methods = &AllMethods(),
          .streamed = streamed};
}

// With images in the run's buffers where it has some.
std::vector<float> VolumeOf(const Problem& problem) {
  const auto run = BenchmarkRun::Create(problem);
  EXPECT_TRUE(run.ok()) << run.status();
  const Trajectory orbit = Orbit();
  std::vector<float> images = Noise();
  const size_t pixels = images.size() / kViews;
  const std::span<float*> buffers = (*run)->image_buffers();
  for (size_t view = 0; view < kViews; ++view) {
    std::array<double, 12> stored;
    // A scale of its own, for which images are weighted.
    const double scale = 1 + 0.01 * static_cast<double>(view);
    for (size_t i = 0; i < 12; ++i) stored[i % 4 * 3 + i / 4] = scale * orbit[view].m[i];
    std::span<float> image = std::span(images).subspan(view * pixels, pixels);
    if (!buffers.empty()) {
      const std::span<float> buffer(buffers[view % buffers.size()], pixels);
      std::ranges::copy(image, buffer.begin());
      image = buffer;
    }
    EXPECT_TRUE((*run)->Add(stored, image).ok());
  }
  const auto result = (*run)->Result();
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE((*run)->Finish(*result).ok());
  std::vector<float> elsewhere(result->size());
  EXPECT_TRUE((*run)->Finish(elsewhere).ok());
  EXPECT_TRUE(std::ranges::equal(*result, elsewhere));
  return elsewhere;
}

TEST(Schedules, StreamedGivesTheSameVolume) {
  const std::vector<float> expected = VolumeOf(ProblemOf(1, false));
  EXPECT_GT(*std::ranges::max_element(expected), 1);
  // Passes after 2, 34, 70 and 71 of 71 images: with batches that are full, begun, and none left.
  for (const unsigned at_once : {1u, 17u, 35u, 71u, 600u}) {
    EXPECT_EQ(VolumeOf(ProblemOf(at_once, true)), expected) << at_once;
  }
}

TEST(Schedules, ABufferThatMayNotHaveLeftIsRefused) {
  const auto run = BenchmarkRun::Create(ProblemOf(4, true));
  ASSERT_TRUE(run.ok());
  const size_t pixels = size_t{kDetector.columns} * kDetector.rows;
  const std::span<float*> buffers = (*run)->image_buffers();
  ASSERT_EQ(buffers.size(), 4u);
  std::fill_n(buffers[0], 4 * pixels, 1.0f);
  const ProjectionMatrix matrix = Orbit().front();
  std::array<double, 12> stored;
  for (size_t i = 0; i < 12; ++i) stored[i % 4 * 3 + i / 4] = matrix.m[i];
  const auto add = [&](const float* image) { return (*run)->Add(stored, {image, pixels}); };
  EXPECT_TRUE(add(buffers[2]).ok());
  EXPECT_EQ(add(buffers[2]).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(add(buffers[1] + 1).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Schedules, NoImagesGiveZeros) {
  for (const bool streamed : {false, true}) {
    const auto run = BenchmarkRun::Create(ProblemOf(1, streamed));
    ASSERT_TRUE(run.ok());
    std::vector<float> volume(size_t{kEdge} * kEdge * kEdge, 5.0f);
    ASSERT_TRUE((*run)->Finish(volume).ok());
    EXPECT_EQ(volume, std::vector<float>(volume.size()));
  }
}

TEST(StreamedVolume, PartsAreTheVolumes) {
  const auto session = OpenSession(AllMethods(), "cpu", {.threads = 2});
  ASSERT_TRUE(session.ok());
  const VolumeGrid grid = CenteredGrid(3, 2, 17, {1, 2, 3});
  for (const int slices : {1, 5, 16, 17}) {
    const auto volume = StreamedVolume::Create(grid, slices, **session);
    ASSERT_TRUE(volume.ok());
    EXPECT_EQ((*volume)->parts(), (17 + slices - 1) / slices);
    // Two passes, each of which adds a voxel's height: what a part had is there again.
    for (int pass = 0; pass < 2; ++pass) {
      ASSERT_TRUE((*volume)
                      ->Pass([](ops::VolumeBuffer& part) -> absl::Status {
                        const Shape3 shape = part.grid().shape();
                        std::vector<float> values(static_cast<size_t>(shape.count()));
                        const HostView3<float> view(values.data(), shape);
                        EXPECT_TRUE(part.Download(0, view).ok());
                        for (int64_t z = 0; z < shape.slow; ++z) {
                          const auto height = part.grid().VoxelToWorld(0, 0, z).z;
                          for (float& value : view.slices(z, 1).span()) {
                            value += static_cast<float>(height);
                          }
                        }
                        return part.Upload(0, view);
                      })
                      .ok());
    }
    for (int64_t z = 0; z < 17; ++z) {
      for (const float value : (*volume)->voxels().slices(z, 1).span()) {
        EXPECT_FLOAT_EQ(value, static_cast<float>(2 * grid.VoxelToWorld(0, 0, z).z));
      }
    }
  }
}

}  // namespace
}  // namespace isocenter::rabbitct
