// A second pass that looks for the detector: what it leaves, what it corrects, what it refuses, how
// it ends. How well it does: tests/accuracy/self_calibration_accuracy_test.cc.
#include "kernels/recon/self_calibration/calibration_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/phantom/phantom.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/second_pass.h"
#include "kernels/recon/self_calibration/reference/reference_moves.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr SecondPassSettings kSelfCalibrate{.self_calibrate = true};
const FdkSettings kFdk{.mu_water_per_mm = kMuWater};

absl::StatusOr<SecondPassPlan> PlanOf(const SmallScan& scan, ops::Device& device,
                                      const SecondPassSettings& settings = kSelfCalibrate) {
  const ops::Device* const devices[] = {&device};
  return MakeSecondPassPlan(scan.acquisition, scan.grid, kFdk, settings, TestRegistry(), devices);
}

/// The head of simulations, in 60 frames, with matrices that are off by `u_mm` on the detector.
SmallScan Head(double u_mm) {
  SmallScan scan;
  Acquisition& acquisition = scan.acquisition;
  acquisition = {
      .detector = {.columns = 156, .rows = 120, .pitch_u_mm = 2.464, .pitch_v_mm = 2.464},
      .pixel_type = PixelType::kFloat32LineIntegrals};
  const Trajectory seen = *MakeCircularOrbit({.views = 60,
                                              .source_to_isocenter_mm = 750,
                                              .source_to_detector_mm = 1200,
                                              .arc = DegreesToRadians(200)},
                                             acquisition.detector);
  scan.grid = CenteredGrid(48, 48, 36, {4.4, 4.4, 4.4});
  for (const ProjectionMatrix& matrix : seen) {
    acquisition.trajectory.push_back(Moved(matrix, acquisition.detector, {.u_mm = -u_mm}));
  }
  scan.frames.resize(scan.frame_shape().count());
  const HostView3<float> frames(scan.frames.data(), scan.frame_shape());
  const auto head = phantom::MakePhantom("head", 100, kMuWater);
  ThreadPool pool(1);
  for (size_t view = 0; view < seen.size(); ++view) {
    phantom::ProjectView(**head, seen[view], acquisition.detector, 1, pool,
                         frames.slices(static_cast<int64_t>(view), 1));
  }
  return scan;
}

/// In HU; as an earlier volume.
struct Volume3 {
  VolumeGrid grid;
  std::vector<float> hu;
  HostView3<const float> view() const { return {hu.data(), grid.shape()}; }
};

std::unique_ptr<Refinement> Pushed(const SmallScan& scan, const SecondPassPlan& plan,
                                   ops::Device& device) {
  ops::Device* const devices[] = {&device};
  auto pass = *NewSecondPass(plan, TestRegistry(), devices);
  for (int view = 0; view < plan.views(); view += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, plan.views() - view);
    EXPECT_TRUE(pass->Push(scan.raw().views(view, count), {}, {}).ok());
  }
  return pass;
}

std::unique_ptr<Refinement> Started(const SmallScan& scan, const SecondPassPlan& plan,
                                    ops::Device& device, const std::vector<float>& first) {
  auto pass = Pushed(scan, plan, device);
  EXPECT_TRUE(pass->Start({first.data(), scan.grid.shape()}).ok());
  return pass;
}

std::vector<float> Volume(const SmallScan& scan, const ReconstructionPlan& plan,
                          ops::Device& device) {
  std::vector<float> volume(scan.grid.voxels());
  const auto done =
      ReconstructAll(plan, TestRegistry(), device, scan.raw(), {volume.data(), scan.grid.shape()});
  EXPECT_TRUE(done.ok()) << done.status();
  return volume;
}

struct Passed {
  std::vector<float> first, second;
  std::vector<std::string> findings;
  std::optional<SelfCalibration> found;
};
Passed Pass(const SmallScan& scan) {
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Passed passed{.first = Volume(scan, *plan->warm_start, *device)};
  const auto pass = Started(scan, *plan, *device, passed.first);
  double progress = 0;
  for (bool done = false; !done; done = *pass->Step()) {
    EXPECT_EQ(pass->self_calibration(), nullptr);
    EXPECT_GE(pass->progress(), progress);
    progress = pass->progress();
  }
  EXPECT_EQ(pass->progress(), 1);
  passed.second.resize(scan.grid.voxels());
  EXPECT_TRUE(pass->Read({passed.second.data(), scan.grid.shape()}).ok());
  passed.findings = pass->findings();
  if (pass->self_calibration() != nullptr) passed.found = *pass->self_calibration();
  EXPECT_EQ(pass->motion(), nullptr);
  return passed;
}

TEST(CalibrationPass, OfTrueMatricesIsTheFirstVolume) {
  const Passed passed = Pass(Head(0));
  ASSERT_TRUE(passed.found.has_value());
  EXPECT_FALSE(passed.found->found());
  EXPECT_EQ(passed.found->not_judged, "");
  EXPECT_EQ(passed.second, passed.first);
  EXPECT_THAT(passed.findings, ElementsAre(HasSubstr("the matrices are as they were")));
}

// What files do: the search, then a plan with the corrected matrices.
TEST(CalibrationPass, CorrectsAShiftAsOnFiles) {
  const SmallScan scan = Head(2);
  const Passed passed = Pass(scan);
  ASSERT_TRUE(passed.found && passed.found->constant);
  EXPECT_NEAR(passed.found->u_mm, 2, 0.1);
  EXPECT_THAT(passed.findings, ElementsAre(HasSubstr("mm along u and ")));

  const auto device = OpenDevice("cpu");
  const auto found = CalibrateFromFrames(scan.acquisition, DefaultCalibrationSearch(kFdk),
                                         scan.raw(), {}, TestRegistry(), *device);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->moves, passed.found->moves);
  Acquisition corrected = scan.acquisition;
  corrected.trajectory = Corrected(corrected.trajectory, corrected.detector, *found);
  const auto plan = MakePlan(corrected, scan.grid, kFdk, TestRegistry(), *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(passed.second, Volume(scan, *plan, *device));
  EXPECT_NE(passed.second, passed.first);
}

/// Runs a pass with an earlier volume to its end. Errors: its.
absl::StatusOr<SelfCalibration> WithReference(const SmallScan& scan, const Volume3& earlier) {
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device, {.self_calibrate = true, .reference = earlier.grid});
  if (!plan.ok()) return plan.status();
  const std::vector<float> first = Volume(scan, *plan->warm_start, *device);
  const auto pass = Pushed(scan, *plan, *device);
  const HostView3<const float> start(first.data(), scan.grid.shape());
  EXPECT_THAT(std::string(pass->Start(start).message()),
              HasSubstr("the reference volume has not been given"));
  auto maker = *ReferenceMakerOf(*plan);
  for (int slice = 0; maker.slices_wanted() > 0; slice += maker.slices_at_once()) {
    EXPECT_TRUE(maker.Add(earlier.view().slices(slice, maker.slices_at_once())).ok());
  }
  EXPECT_TRUE(pass->SetReference(*maker.Finish()).ok());
  EXPECT_TRUE(pass->Start(start).ok());
  for (bool done = false; !done;) {
    const auto step = pass->Step();
    if (!step.ok()) return step.status();
    done = *step;
  }
  EXPECT_THAT(pass->findings(), ElementsAre(HasSubstr("edges correlate by")));
  return *pass->self_calibration();
}

// A scan with the true matrices, somewhat elsewhere and with coarser voxels.
Volume3 EarlierVolume() {
  SmallScan scan = Head(0);
  scan.grid = CenteredGrid(64, 64, 48, {3.3, 3.3, 3.3});
  const auto device = OpenDevice("cpu");
  const auto plan = MakePlan(scan.acquisition, scan.grid, kFdk, TestRegistry(), *device);
  Volume3 earlier{.grid = scan.grid, .hu = Volume(scan, *plan, *device)};
  earlier.grid.origin = earlier.grid.origin + Vec3{3, -2, 4};
  return earlier;
}

TEST(CalibrationPass, HoldsAnEarlierVolumeBesideTheFramesAsOnFiles) {
  const SmallScan scan = Head(2);
  const Volume3 earlier = EarlierVolume();
  const auto found = WithReference(scan, earlier);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_NEAR(found->u_mm, 2, 0.1);
  ASSERT_TRUE(found->reference.has_value());
  EXPECT_GT(found->reference->similarity_after, kLeastReferenceSimilarity);
  EXPECT_LT(Norm(found->reference->patient.shift_mm - Vec3{-3, 2, -4}), 2);  // half a voxel

  const auto device = OpenDevice("cpu");
  const auto reference =
      MakeReference(earlier.grid, earlier.view(), kMuWater, ReferenceVoxelMm(scan.acquisition));
  ASSERT_TRUE(reference.ok()) << reference.status();
  CalibrationSearch search = DefaultCalibrationSearch(kFdk);
  search.reference = &*reference;
  const auto on_files =
      CalibrateFromFrames(scan.acquisition, search, scan.raw(), {}, TestRegistry(), *device);
  ASSERT_TRUE(on_files.ok()) << on_files.status();
  EXPECT_EQ(on_files->moves, found->moves);
  EXPECT_EQ(ToText(*on_files), ToText(*found));
}

TEST(CalibrationPass, RefusesAVolumeOfSomethingElseWithTheFigure) {
  Volume3 earlier{.grid = CenteredGrid(64, 64, 48, {3.3, 3.3, 3.3})};
  earlier.hu.assign(earlier.grid.voxels(), -1000.0F);
  for (int k = 14; k < 34; ++k) {
    for (int j = 20; j < 50; ++j) {
      for (int i = 10; i < 40; ++i) earlier.hu[(k * 64 + j) * 64 + i] = 40;
    }
  }
  const absl::Status refused = WithReference(Head(0), earlier).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the reference volume does not show what the frames show"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("legal is 0.85 or more"));
}

TEST(CalibrationPass, CountsTheMemoryOfItsReference) {
  const SmallScan scan = Head(0);
  const auto device = OpenDevice("cpu");
  const auto bytes = [&](const std::optional<VolumeGrid>& reference) {
    const auto plan = PlanOf(scan, *device, {.self_calibrate = true, .reference = reference});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? plan->host_bytes : 0;
  };
  // The coarse one, two copies on the host and two on the searching device, which is the host.
  EXPECT_GT(bytes(CenteredGrid(200, 200, 100, {2, 2, 2})) - bytes(std::nullopt),
            5 * 4 * 200 * 200 * 100);
  EXPECT_THAT(
      std::string(PlanOf(scan, *device,
                         {.self_calibrate = true, .reference = CenteredGrid(7, 9, 9, {1, 1, 1})})
                      .status()
                      .message()),
      HasSubstr("reference volume of 7x9x9 voxels; legal is 8 or more"));
}

TEST(CalibrationPass, TakesAReferenceOnlyWhereItsSettingsHaveOne) {
  const absl::Status without =
      ValidateSecondPassSettings({.bone = true, .reference = CenteredGrid(9, 9, 9, {1, 1, 1})});
  EXPECT_EQ(without.message(), "a reference is set without self_calibrate; legal is one with it");
  const SmallScan scan = Head(0);
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Pushed(scan, *plan, *device)->SetReference({}).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(CalibrationPass, EndsInTheMiddle) {
  const SmallScan scan = Head(0);
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto pass = Started(scan, *plan, *device, Volume(scan, *plan->warm_start, *device));
  while (!(pass->progress() > 0)) ASSERT_FALSE(*pass->Step());
  EXPECT_LT(pass->progress(), 0.9);
  EXPECT_FALSE(pass->readable());
  const absl::Time begin = absl::Now();
  pass.reset();
  // A look at the frames, not what is left of the search.
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

TEST(CalibrationPass, CountsTheMemoryOfItsSearch) {
  const SmallScan scan = Head(0);
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(PlanText(*plan), HasSubstr("second pass against a detector elsewhere\n"));
  const auto part = std::ranges::find(plan->host_parts, "self-calibration", &MemoryPart::what);
  ASSERT_NE(part, plan->host_parts.end());
  EXPECT_GT(part->bytes, 2 * 4 * 96 * 96 * 96);  // two coarse volumes
  EXPECT_EQ(plan->host_bytes, TotalBytes(plan->host_parts));
}

TEST(CalibrationPass, IsAloneAndOfEnoughFrames) {
  for (const auto& [said, settings] :
       {std::pair("self_calibrate is set with stripes",
                  SecondPassSettings{.stripes = true, .self_calibrate = true}),
        {"self_calibrate is set with metal", {.metal = MetalSettings(), .self_calibrate = true}},
        {"motion is set with self_calibrate", {.motion = true, .self_calibrate = true}}}) {
    const absl::Status status = ValidateSecondPassSettings(settings);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              absl::StrCat(said, "; legal is one of them, both begin with the frames"));
  }
  EXPECT_TRUE(ValidateSecondPassSettings(kSelfCalibrate).ok());
  const auto device = OpenDevice("cpu");
  EXPECT_THAT(std::string(PlanOf(MakeSmallScan(31), *device).status().message()),
              HasSubstr("from 31 frames; legal is 32 or more"));
}

}  // namespace
}  // namespace isocenter::recon
