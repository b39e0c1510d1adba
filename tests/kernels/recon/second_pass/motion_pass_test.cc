// A second pass against motion: what it leaves, what it takes out, what it refuses, how it ends.
// How well it does: tests/accuracy/motion_accuracy_test.cc.
#include "kernels/recon/second_pass/motion_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/phantom/phantom.h"
#include "kernels/phantom/planted_motion.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/second_pass.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr SecondPassSettings kMotion{.motion = true};

absl::StatusOr<SecondPassPlan> PlanOf(const SmallScan& scan, ops::Device& device) {
  const ops::Device* const devices[] = {&device};
  return MakeSecondPassPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater}, kMotion,
                            TestRegistry(), devices);
}

/// The head of simulations, in 60 frames, moved or not.
SmallScan Head(const std::vector<RigidPose>& poses) {
  SmallScan scan;
  scan.acquisition = {
      .detector = {.columns = 78, .rows = 60, .pitch_u_mm = 4.928, .pitch_v_mm = 4.928},
      .pixel_type = PixelType::kFloat32LineIntegrals};
  scan.acquisition.trajectory = *MakeCircularOrbit({.views = static_cast<int>(poses.size()),
                                                    .source_to_isocenter_mm = 750,
                                                    .source_to_detector_mm = 1200,
                                                    .arc = DegreesToRadians(200)},
                                                   scan.acquisition.detector);
  scan.grid = CenteredGrid(48, 48, 36, {4.4, 4.4, 4.4});
  const Trajectory seen = *SeenAtRest(scan.acquisition.trajectory, poses);
  scan.frames.resize(scan.frame_shape().count());
  const HostView3<float> frames(scan.frames.data(), scan.frame_shape());
  const auto head = phantom::MakePhantom("head", 100, kMuWater);
  ThreadPool pool(1);
  for (size_t view = 0; view < poses.size(); ++view) {
    phantom::ProjectView(**head, seen[view], scan.acquisition.detector, 1, pool,
                         frames.slices(static_cast<int64_t>(view), 1));
  }
  return scan;
}

/// With the matrices of `acquisition` measured, as a console sends them.
std::unique_ptr<Refinement> Started(const SmallScan& scan, const SecondPassPlan& plan,
                                    ops::Device& device, const std::vector<float>& first) {
  ops::Device* const devices[] = {&device};
  auto pass = *NewSecondPass(plan, TestRegistry(), devices);
  for (int view = 0; view < plan.views(); view += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, plan.views() - view);
    const std::span<const ProjectionMatrix> measured(scan.acquisition.trajectory);
    EXPECT_TRUE(pass->Push(scan.raw().views(view, count), measured.subspan(view, count)).ok());
  }
  EXPECT_TRUE(pass->Start({first.data(), scan.grid.shape()}).ok());
  return pass;
}

std::vector<float> FirstVolume(const SmallScan& scan, const SecondPassPlan& plan,
                               ops::Device& device) {
  std::vector<float> volume(scan.grid.voxels());
  const auto done = ReconstructAll(*plan.warm_start, TestRegistry(), device, scan.raw(),
                                   {volume.data(), scan.grid.shape()});
  EXPECT_TRUE(done.ok()) << done.status();
  return volume;
}

struct Passed {
  std::vector<float> first, second;
  std::vector<std::string> findings;
  std::optional<FoundMotion> motion;
};
Passed Pass(const SmallScan& scan) {
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Passed passed{.first = FirstVolume(scan, *plan, *device)};
  const auto pass = Started(scan, *plan, *device, passed.first);
  double progress = 0;
  for (bool done = false; !done; done = *pass->Step()) {
    EXPECT_EQ(pass->motion(), nullptr);
    EXPECT_GE(pass->progress(), progress);
    progress = pass->progress();
  }
  EXPECT_EQ(pass->progress(), 1);
  passed.second.resize(scan.grid.voxels());
  EXPECT_TRUE(pass->Read({passed.second.data(), scan.grid.shape()}).ok());
  passed.findings = pass->findings();
  if (pass->motion() != nullptr) passed.motion = *pass->motion();
  return passed;
}

TEST(MotionPass, OfAnObjectAtRestIsTheFirstVolume) {
  const Passed passed = Pass(Head(std::vector<RigidPose>(60)));
  ASSERT_TRUE(passed.motion.has_value());
  EXPECT_FALSE(passed.motion->moved)
      << passed.motion->entropy_before - passed.motion->entropy_after;
  EXPECT_EQ(passed.second, passed.first);
  EXPECT_THAT(passed.findings,
              ElementsAre(HasSubstr("motion: none found that makes the volume clearly sharper")));
}

// Nearer to the head at rest than the first volume; the same bits as all at once, from the frames.
TEST(MotionPass, TakesAMotionOut) {
  const std::vector<RigidPose> poses =
      phantom::PlantedMotion(phantom::MotionKind::kSmooth, 4, 3, 12).AtFrames(60);
  const SmallScan moved = Head(poses), still = Head(std::vector<RigidPose>(60));
  const Passed passed = Pass(moved);
  ASSERT_TRUE(passed.motion && passed.motion->moved);
  EXPECT_THAT(passed.findings, ElementsAre(AllOf(HasSubstr("from the mean pose are taken out"),
                                                 HasSubstr("planes of pairs of frames "))));
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(still, *device);
  const std::vector<float> truth = FirstVolume(still, *plan, *device);
  const double before = RmsDifference(passed.first, truth);
  const double after = RmsDifference(passed.second, truth);
  RecordProperty("before_hu", absl::StrCat(before));
  RecordProperty("after_hu", absl::StrCat(after));
  EXPECT_LT(after, 0.8 * before) << "before: " << before << " HU";

  const auto found =
      FindMotion(moved.acquisition, DefaultMotionSearch(60, {.mu_water_per_mm = kMuWater}),
                 moved.raw(), {}, TestRegistry(), *device);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->poses, passed.motion->poses);
}

TEST(MotionPass, EndsInTheMiddle) {
  const SmallScan scan = Head(std::vector<RigidPose>(60));
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto pass = Started(scan, *plan, *device, FirstVolume(scan, *plan, *device));
  while (!(pass->progress() > 0)) ASSERT_FALSE(*pass->Step());
  EXPECT_LT(pass->progress(), 0.9);
  EXPECT_FALSE(pass->readable());
  const absl::Time begin = absl::Now();
  pass.reset();
  // A step of the search, not what is left of it.
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

TEST(MotionPass, CountsTheMemoryOfItsSearch) {
  const SmallScan scan = Head(std::vector<RigidPose>(60));
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(PlanText(*plan), HasSubstr("second pass against motion\n"));
  const auto part = std::ranges::find(plan->host_parts, "search for motion", &MemoryPart::what);
  ASSERT_NE(part, plan->host_parts.end());
  EXPECT_GT(part->bytes, 2 * 4 * 64 * 64 * 64);  // two coarse volumes
  EXPECT_EQ(plan->host_bytes, TotalBytes(plan->host_parts));
  // A scan that is not searched has none of it.
  const ops::Device* const devices[] = {device.get()};
  const auto other = MakeSecondPassPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
                                        {.cone_beam = true}, TestRegistry(), devices);
  EXPECT_EQ(std::ranges::find(other->host_parts, "search for motion", &MemoryPart::what)->bytes, 0);
}

TEST(MotionPass, IsAloneAndOfEnoughFramesThatSeeTheWholeWidth) {
  for (const auto& [name, settings] :
       {std::pair("stripes", SecondPassSettings{.stripes = true, .motion = true}),
        {"scatter", {.scatter = true, .motion = true}},
        {"metal", {.metal = MetalSettings(), .motion = true}},
        {"bone", {.bone = true, .motion = true}},
        {"cone_beam", {.cone_beam = true, .motion = true}}}) {
    const absl::Status status = ValidateSecondPassSettings(settings);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), absl::StrCat("motion is set with ", name,
                                             "; legal is one of them, both begin with the frames"));
  }
  EXPECT_TRUE(ValidateSecondPassSettings(kMotion).ok());

  const auto device = OpenDevice("cpu");
  EXPECT_THAT(std::string(PlanOf(MakeSmallScan(31), *device).status().message()),
              HasSubstr("from 31 frames; legal is 32 or more"));

  SmallScan cut = Head(std::vector<RigidPose>(60));
  for (float& line : cut.frames) line += 0.8F;
  const auto plan = PlanOf(cut, *device);
  const auto pass = Started(cut, *plan, *device, FirstVolume(cut, *plan, *device));
  absl::StatusOr<bool> done = false;
  while (done.ok() && !*done) done = pass->Step();
  EXPECT_EQ(done.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(done.status().message()),
              HasSubstr("cannot be told from frames that do not see the whole width: "));
}

}  // namespace
}  // namespace isocenter::recon
