#include "kernels/quality/second_scan.h"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/quality/phantom_study.h"
#include "tests/kernels/quality/made_phantom.h"

namespace isocenter::quality {
namespace {

using ::testing::HasSubstr;

const MadeScan& Clean() {
  static const MadeScan scan =
      MakeScan("quality", 80, {.voxel_mm = 1.4, .nx = 124, .nz = 106, .blur_mm = 1});
  return scan;
}

MadeScan Noisy(double noise, uint64_t seed, double noise_blur_mm = 1.2) {
  MadeScan scan = Clean();
  AddNoise({.voxel_mm = 1.4, .noise = noise, .noise_blur_mm = noise_blur_mm, .seed = seed}, scan);
  return scan;
}

absl::StatusOr<PhantomStudy> Study(const MadeScan& scan, const MadeScan& again,
                                   bool other_frames = false) {
  const VolumeView view = again.view();
  return StudyPhantom(scan.view(), QualityTable(80), &view, other_frames);
}

TEST(SecondScan, OfItsOwnNoiseIsOneAndOfTheSameIsNot) {
  const MadeScan first = Noisy(60, 1);
  const auto two = Study(first, Noisy(60, 2));
  ASSERT_TRUE(two.ok()) << two.status();
  std::printf("two scans: noise %.2f, %.2f, of the difference %.2f HU, correlation %.3f\n",
              two->second_scan->first, two->second_scan->second, two->second_scan->difference,
              two->second_scan->correlation);
  EXPECT_NEAR(two->second_scan->correlation, 0, 0.03);
  EXPECT_NEAR(two->second_scan->difference, two->second_scan->first,
              0.05 * two->second_scan->first);

  // Rounded to whole HU, as DICOM does: what differs is the rounding alone.
  MadeScan rounded = first;
  for (float& voxel : rounded.voxels) voxel = std::round(voxel);
  // Another filter; another water.
  const MadeScan softer = Noisy(60, 1, 1.35);
  MadeScan scaled = first;
  for (float& voxel : scaled.voxels) voxel = 1.01F * (voxel + 1000) - 1000;
  for (const MadeScan* again : {&first, static_cast<const MadeScan*>(&rounded), &softer,
                                static_cast<const MadeScan*>(&scaled)}) {
    const auto one = Study(first, *again);
    ASSERT_EQ(one.status().code(), absl::StatusCode::kFailedPrecondition) << one.status();
    std::printf("%s\n", std::string(one.status().message()).c_str());
    EXPECT_THAT(std::string(one.status().message()),
                AllOf(HasSubstr("legal is at most 0.3"), HasSubstr("of frames of its own")));
  }
}

TEST(SecondScan, OfOtherNoiseOrNoneIsRefused) {
  const auto softer = Study(Noisy(60, 1), Noisy(40, 2));
  EXPECT_THAT(std::string(softer.status().message()), HasSubstr("a ratio of at most 1.25"));
  EXPECT_FALSE(Study(Noisy(60, 1), Clean()).ok());
}

/// Rings are in both scans, and the difference is there to take them out: legal where the frames
/// are known to be others.
TEST(SecondScan, StructureOfBothIsTakenOutWhereTheFramesAreOthers) {
  MadeScan first = Noisy(60, 1), second = Noisy(60, 2);
  const VolumeGrid& grid = first.grid;
  for (int64_t i = 0; i < grid.voxels(); ++i) {
    const Vec3 at = grid.VoxelToWorld(i % grid.nx, i / grid.nx % grid.ny, 0);
    const auto ring = static_cast<float>(40 * std::sin(1.9 * std::hypot(at.x, at.y)));
    first.voxels[i] += ring;
    second.voxels[i] += ring;
  }
  EXPECT_FALSE(Study(first, second).ok());
  const auto known = Study(first, second, true);
  ASSERT_TRUE(known.ok()) << known.status();
  const auto without = Study(Noisy(60, 1), Noisy(60, 2));
  EXPECT_NEAR(known->nps->variance, without->nps->variance, 1e-3 * without->nps->variance);
  EXPECT_GT(known->second_scan->correlation, kMostCorrelation);
  // Whoever says so: what is nearly all alike is no second scan.
  MadeScan nearly = first;
  for (int64_t i = 0; i < grid.voxels(); ++i) nearly.voxels[i] += 0.01F * second.voxels[i];
  const auto same = Study(first, nearly, true);
  EXPECT_THAT(std::string(same.status().message()), HasSubstr("legal is at most 0.9"));
}

}  // namespace
}  // namespace isocenter::quality
