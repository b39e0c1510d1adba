// Motions that are planted into scans of a head, and what a search finds of them: against the same
// scan of a head that lies still, and against the planted poses. The cpu backend computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/phantom/phantom.h"
#include "kernels/phantom/planted_motion.h"
#include "kernels/recon/motion/compensation.h"
#include "kernels/recon/motion/find_motion.h"
#include "kernels/recon/motion/matrix_model.h"
#include "kernels/recon/motion/minimize.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter {
namespace {

constexpr double kMuWater = 0.02;  // 1/mm
constexpr int kViews = 120;
constexpr Detector kDetector{.columns = 156, .rows = 120, .pitch_u_mm = 2.464, .pitch_v_mm = 2.464};
constexpr Shape3 kShape{kViews, 120, 156};
using Volume = std::vector<float>;

recon::Acquisition Scan() {
  recon::Acquisition scan{.detector = kDetector,
                          .pixel_type = recon::PixelType::kFloat32LineIntegrals};
  scan.trajectory = *MakeCircularOrbit({.views = kViews,
                                        .source_to_isocenter_mm = 750,
                                        .source_to_detector_mm = 1200,
                                        .arc = DegreesToRadians(200)},
                                       kDetector);
  return scan;
}

Volume FramesOf(const phantom::Phantom& object, const std::vector<RigidPose>& poses) {
  const Trajectory seen = *SeenAtRest(Scan().trajectory, poses);
  Volume frames(kShape.count());
  ThreadPool pool(UsableCores());
  for (int view = 0; view < kViews; ++view) {
    phantom::ProjectView(object, seen[view], kDetector, 1, pool,
                         HostView3<float>(frames.data(), kShape).slices(view, 1));
  }
  return frames;
}

ops::RawFrames Raw(const Volume& frames) { return {.line_integrals = {frames.data(), kShape}}; }

const VolumeGrid& Grid() {
  static const VolumeGrid grid = CenteredGrid(96, 96, 72, {2.2, 2.2, 2.2});
  return grid;
}

Volume Reconstructed(const Volume& frames, const std::vector<RigidPose>& poses) {
  const auto device = *Backends().OpenDevice("cpu", {});
  const ops::Device* const devices[] = {device.get()};
  const auto plan = *recon::MakePlan(Scan(), Grid(), {.mu_water_per_mm = kMuWater}, Backends(),
                                     devices, recon::Arrival::kComplete);
  const auto at_rest = *recon::WithMotion(plan, poses);
  Volume volume(Grid().voxels());
  EXPECT_TRUE(recon::ReconstructAll(at_rest, Backends(), *device, Raw(frames),
                                    {volume.data(), Grid().shape()})
                  .ok());
  return volume;
}

// HU, where all views see all of the head.
double Rmse(const Volume& volume, const Volume& truth) {
  double sum = 0;
  int64_t count = 0;
  for (int z = 0; z < Grid().nz; ++z) {
    for (int y = 0; y < Grid().ny; ++y) {
      for (int x = 0; x < Grid().nx; ++x) {
        const Vec3 at = Grid().VoxelToWorld(x, y, z);
        if (std::hypot(at.x, at.y) > 90 || std::abs(at.z) > 60) continue;
        const int64_t i = (int64_t{z} * Grid().ny + y) * Grid().nx + x;
        sum += (volume[i] - truth[i]) * (volume[i] - truth[i]);
        ++count;
      }
    }
  }
  return std::sqrt(sum / static_cast<double>(count));
}

// mm at the isocentre, the root mean square over views of how far points 70 mm from the isocentre
// are from where they are seen with the other poses. What lies along the view's direction hardly
// counts, as in the volume.
double SeenApart(const std::vector<RigidPose>& poses, const std::vector<RigidPose>& others) {
  const Trajectory one = *SeenAtRest(Scan().trajectory, poses),
                   other = *SeenAtRest(Scan().trajectory, others);
  const double pixel_mm = kDetector.pitch_u_mm * 750 / 1200;
  double sum = 0;
  for (int view = 0; view < kViews; ++view) {
    for (const Vec3 point :
         {Vec3{70, 0, 0}, {-70, 0, 0}, {0, 70, 0}, {0, -70, 0}, {0, 0, 70}, {0, 0, -70}}) {
      const Projected a = one[view].Project(point), b = other[view].Project(point);
      sum += (std::pow(a.u() - b.u(), 2) + std::pow(a.v() - b.v(), 2)) * pixel_mm * pixel_mm;
    }
  }
  return std::sqrt(sum / (6 * kViews));
}

// The same motion of an object that lies elsewhere at rest, where it is seen nearest to the other:
// no frame tells one from the other.
std::vector<RigidPose> Aligned(const std::vector<RigidPose>& poses,
                               const std::vector<RigidPose>& others) {
  const auto placed = [&](std::span<const double> six) {
    const RigidTransform first = TransformOf(recon::PoseFrom(six));
    std::vector<RigidPose> made;
    for (const RigidPose& pose : poses) made.push_back(PoseOf(Then(first, TransformOf(pose))));
    return made;
  };
  const recon::Function apart = [&](std::span<const double> six, std::span<double> gradient) {
    constexpr double kStepMm = 0.01;
    for (size_t i = 0; i < six.size(); ++i) {
      std::vector<double> more(six.begin(), six.end()), less = more;
      more[i] += kStepMm;
      less[i] -= kStepMm;
      gradient[i] =
          (SeenApart(placed(more), others) - SeenApart(placed(less), others)) / (2 * kStepMm);
    }
    return absl::StatusOr<double>(SeenApart(placed(six), others));
  };
  std::vector<double> six(6, 0.0);
  EXPECT_TRUE(recon::Minimize(apart, 0.1, 50, 1e-6, six).ok());
  return placed(six);
}

absl::StatusOr<recon::FoundMotion> Found(const Volume& frames) {
  const auto device = *Backends().OpenDevice("cpu", {});
  return recon::FindMotion(Scan(),
                           recon::DefaultMotionSearch(kViews, {.mu_water_per_mm = kMuWater}),
                           Raw(frames), {}, Backends(), *device);
}

struct Planted {
  std::string name;
  phantom::MotionKind kind;
  uint64_t seed = 0;
};

class PlantedMotionTest : public testing::TestWithParam<Planted> {};

// 4 mm and 3°: docs/motion.md has what was measured. The planted poses themselves leave 0.25 to
// 0.31 of the loss, most of it what this measure cannot do without (InAnotherPose...).
TEST_P(PlantedMotionTest, IsTakenOutForTheMostPart) {
  const auto head = *phantom::MakePhantom("head", 100, kMuWater);
  const std::vector<RigidPose> rest(kViews);
  const std::vector<RigidPose> planted = recon::AboutTheirMean(
      phantom::PlantedMotion(GetParam().kind, 4, 3, GetParam().seed).AtFrames(kViews));
  const Volume still = Reconstructed(FramesOf(*head, rest), rest);
  const Volume frames = FramesOf(*head, planted);
  const auto found = Found(frames);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->moved);
  const double moved = Rmse(Reconstructed(frames, rest), still);
  const std::vector<RigidPose> aligned = Aligned(found->poses, planted);
  const double as_found = Rmse(Reconstructed(frames, found->poses), still);
  const double compensated = Rmse(Reconstructed(frames, aligned), still);
  const double best = Rmse(Reconstructed(frames, planted), still);
  const double apart = SeenApart(aligned, planted);
  const double before = SeenApart(Aligned(rest, planted), planted);
  std::printf(
      "%s: %.1f HU, compensated %.1f, as it lies %.1f, by the planted poses %.1f; seen %.2f mm "
      "apart, before %.2f; entropy %.3f, before %.3f; planes %.4f, before %.4f\n",
      GetParam().name.c_str(), moved, compensated, as_found, best, apart, before,
      found->entropy_after, found->entropy_before, found->planes_after, found->planes_before);
  EXPECT_EQ(found->planes_not_used, "");
  EXPECT_LT(compensated, 0.37 * moved);
  EXPECT_LT(as_found, 0.65 * moved);
  EXPECT_LT(apart, 0.15 * before);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PlantedMotionTest,
                         testing::Values(Planted{"jolt", phantom::MotionKind::kJolt, 11},
                                         Planted{"smooth", phantom::MotionKind::kSmooth, 12}),
                         [](const auto& test) { return test.param.name; });

// No motion at all: what pixels and voxels of this size make of another place of the head is the
// least that any compensation leaves by this measure. docs/motion.md has what it was.
TEST(StillHead, InAnotherPoseIsNotTheSameVolume) {
  const auto head = *phantom::MakePhantom("head", 100, kMuWater);
  const std::vector<RigidPose> rest(kViews);
  const std::vector<RigidPose> other(kViews,
                                     {.turn_rad = {0.02, 0.015, 0.01}, .shift_mm = {1, 1.3, 0.7}});
  const Volume still = Reconstructed(FramesOf(*head, rest), rest);
  const double floor = Rmse(Reconstructed(FramesOf(*head, other), other), still);
  std::printf("in another pose, which is known: %.1f HU\n", floor);
  EXPECT_LT(floor, 50);
}

// The volume then is the first one, bit for bit.
TEST(StillHead, HasNoMotion) {
  const auto head = *phantom::MakePhantom("head", 100, kMuWater);
  Volume frames = FramesOf(*head, std::vector<RigidPose>(kViews));
  const auto found = Found(frames);
  ASSERT_TRUE(found.ok()) << found.status();
  std::printf("still: entropy %.3f, before %.3f\n", found->entropy_after, found->entropy_before);
  EXPECT_FALSE(found->moved);
}

}  // namespace
}  // namespace isocenter
