#include "kernels/quality/second_scan.h"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/base/units.h"
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

absl::StatusOr<PhantomStudy> Study(const MadeScan& scan, const MadeScan& again) {
  const VolumeView view = again.view();
  return StudyPhantom(scan.view(), QualityTable(80), &view);
}

/// Turned about the world's axis, and moved by voxels along x; linear between voxels.
MadeScan Turned(const MadeScan& scan, double degrees, double move) {
  const VolumeGrid& grid = scan.grid;
  const double c = std::cos(DegreesToRadians(degrees)), s = std::sin(DegreesToRadians(degrees));
  MadeScan turned = scan;
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const Vec3 p = grid.VoxelToWorld(i, j, k);
        const Vec3 at = grid.WorldToVoxel({c * p.x - s * p.y, s * p.x + c * p.y, p.z});
        const double x = std::clamp(at.x + move, 0.0, grid.nx - 1.001);
        const double y = std::clamp(at.y, 0.0, grid.ny - 1.001);
        const int x0 = static_cast<int>(x), y0 = static_cast<int>(y);
        const auto row = [&](int j0) {
          const float* line = &scan.voxels[(int64_t{k} * grid.ny + j0) * grid.nx + x0];
          return line[0] + (x - x0) * (line[1] - line[0]);
        };
        turned.voxels[(int64_t{k} * grid.ny + j) * grid.nx + i] =
            static_cast<float>(row(y0) + (y - y0) * (row(y0 + 1) - row(y0)));
      }
    }
  }
  return turned;
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

/// Whatever the files say of their frames.
TEST(SecondScan, TheSameNoiseTurnedOrMovedIsRefused) {
  const MadeScan first = Noisy(60, 1);
  for (const auto& [degrees, move] :
       {std::pair(1.0, 0.0), std::pair(-1.7, 0.3), std::pair(0.0, 0.9), std::pair(0.5, -0.6)}) {
    const auto turned = Study(first, Turned(first, degrees, move));
    ASSERT_EQ(turned.status().code(), absl::StatusCode::kFailedPrecondition) << degrees;
    std::printf("%s\n", std::string(turned.status().message()).c_str());
    EXPECT_THAT(std::string(turned.status().message()), HasSubstr("with the second turned by"));
  }
  // The noise of another scan stays another's wherever it is looked for.
  const auto other = Study(first, Turned(Noisy(70, 2), 1, 0));
  ASSERT_TRUE(other.ok()) << other.status();
  std::printf("two scans, one turned: %.3f at most\n", other->second_scan->closest.value);
  EXPECT_LT(other->second_scan->noise_correlation(), 0.15);
}

TEST(SecondScan, OfOtherNoiseOrNoneIsRefused) {
  const auto softer = Study(Noisy(60, 1), Noisy(40, 2));
  EXPECT_THAT(std::string(softer.status().message()), HasSubstr("a ratio of at most 1.25"));
  EXPECT_FALSE(Study(Noisy(60, 1), Clean()).ok());
}

void AddRings(MadeScan& scan, double amplitude, bool whole) {
  const VolumeGrid& grid = scan.grid;
  for (int64_t i = 0; i < grid.voxels(); ++i) {
    const Vec3 at = grid.VoxelToWorld(i % grid.nx, i / grid.nx % grid.ny, 0);
    const double share = whole ? 1 : 0.5 * (1 + std::cos(std::atan2(at.y, at.x)));
    scan.voxels[i] +=
        static_cast<float>(amplitude * share * std::sin(1.9 * std::hypot(at.x, at.y)));
  }
}

/// Rings are in both scans, and the difference is there to take them out.
TEST(SecondScan, RingsOfBothAreTakenOut) {
  MadeScan first = Noisy(60, 1), second = Noisy(60, 2);
  AddRings(first, 40, true);
  AddRings(second, 40, true);
  const auto known = Study(first, second);
  ASSERT_TRUE(known.ok()) << known.status();
  std::printf("rings: %.2f alike, rings have %.2f, noise %.2f\n", known->second_scan->correlation,
              known->second_scan->rings, known->second_scan->noise_correlation());
  EXPECT_GT(known->second_scan->correlation, kMostCorrelation);
  const auto without = Study(Noisy(60, 1), Noisy(60, 2));
  EXPECT_NEAR(known->nps->variance, without->nps->variance, 1e-3 * without->nps->variance);
  // Rings do not hide that the noise is one.
  EXPECT_FALSE(Study(first, Turned(first, 1, 0)).ok());
  MadeScan nearly = first;
  for (size_t i = 0; i < nearly.voxels.size(); ++i) nearly.voxels[i] += 0.3F * second.voxels[i];
  EXPECT_FALSE(Study(first, nearly).ok());
  // Half rings, as of a short scan.
  MadeScan half_first = Noisy(60, 1), half_second = Noisy(60, 2);
  AddRings(half_first, 40, false);
  AddRings(half_second, 40, false);
  const auto half = Study(half_first, half_second);
  EXPECT_TRUE(half.ok()) << half.status();
}

/// Structure that is no ring about the isocentre cannot be told from noise of the same frames.
TEST(SecondScan, OtherStructureOfBothIsRefused) {
  MadeScan first = Noisy(60, 1), second = Noisy(60, 2);
  const MadeScan common = Noisy(60, 3);
  for (size_t i = 0; i < first.voxels.size(); ++i) {
    first.voxels[i] += common.voxels[i] - Clean().voxels[i];
    second.voxels[i] += common.voxels[i] - Clean().voxels[i];
  }
  EXPECT_THAT(std::string(Study(first, second).status().message()),
              HasSubstr("or show the same structure"));
}

}  // namespace
}  // namespace isocenter::quality
