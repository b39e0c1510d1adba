// Reconstruction while frames arrive: previews, and the end in steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/reference/register.h"
#include "tests/kernels/recon/own_memory_device.h"

namespace isocenter::recon {
namespace {

constexpr int kViews = 20, kColumns = 22, kRows = 30;
// Odd, so that the planes through the middle are slices of the volume; tall, so that slabs see
// different rows.
const VolumeGrid kGrid = CenteredGrid(7, 9, 21, {4, 3, 5});

/// How the work is divided, whatever a plan would say.
struct Way {
  const char* name;
  Order order;
  bool keep_projections;
  std::vector<Slab> slabs;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class LiveTest : public ::testing::TestWithParam<Way> {
 protected:
  LiveTest() {
    reference::Register(registry_);
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(0, 2);
    frames_.resize(kViews * kRows * kColumns);
    std::generate(frames_.begin(), frames_.end(), [&] { return uniform(random); });
    Acquisition acquisition{
        .detector = {.columns = kColumns, .rows = kRows, .pitch_u_mm = 5, .pitch_v_mm = 5},
        .pixel_type = PixelType::kFloat32LineIntegrals};
    acquisition.trajectory = *MakeCircularOrbit({.views = kViews,
                                                 .source_to_isocenter_mm = 750,
                                                 .source_to_detector_mm = 1200,
                                                 .arc = 2 * kPi * (kViews - 1) / kViews},
                                                acquisition.detector);
    plan_ = *MakePlan(acquisition, kGrid, {}, registry_, first_);
    plan_.order = GetParam().order;
    plan_.keep_projections = GetParam().keep_projections;
    plan_.slabs = GetParam().slabs;
    plan_.kept_frames_bytes = int64_t{kViews} * kRows * kColumns * 4;
  }

  std::unique_ptr<Reconstructor> New(const ReconstructorOptions& options) {
    ops::Device* const devices[] = {&first_, &second_};
    auto reconstructor = Reconstructor::Create(plan_, registry_, devices, options);
    EXPECT_TRUE(reconstructor.ok()) << reconstructor.status();
    return *std::move(reconstructor);
  }
  absl::Status Push(Reconstructor& reconstructor, const Chunk& chunk) {
    const HostView3<const float> all(frames_.data(), {kViews, kRows, kColumns});
    return reconstructor.Push({.line_integrals = all.slices(chunk.first_view, chunk.views)});
  }
  std::vector<float> Volume(Reconstructor& reconstructor) {
    std::vector<float> volume(kGrid.voxels());
    for (const Chunk& chunk : plan_.chunks) EXPECT_TRUE(Push(reconstructor, chunk).ok());
    EXPECT_TRUE(reconstructor.Finish({volume.data(), kGrid.shape()}).ok());
    return volume;
  }

  ops::Registry registry_;
  OwnMemoryDevice first_, second_;
  std::vector<float> frames_;
  ReconstructionPlan plan_;
};

TEST_P(LiveTest, APreviewChangesNotOneBitOfTheVolume) {
  const auto plain = New({}), with_preview = New({.urgent = true, .preview = true});
  const std::vector<float> expected = Volume(*plain);
  EXPECT_EQ(Volume(*with_preview), expected);
  EXPECT_EQ(Volume(*with_preview), expected);  // another acquisition
}

TEST_P(LiveTest, AfterTheLastChunkThePlanesAreTheVolumesMiddleSlices) {
  const auto reconstructor = New({.preview = true});
  for (int acquisition = 0; acquisition < 2; ++acquisition) {
    for (const Chunk& chunk : plan_.chunks) ASSERT_TRUE(Push(*reconstructor, chunk).ok());
    const auto planes = reconstructor->TakePreview();
    ASSERT_TRUE(planes.ok()) << planes.status();
    std::vector<float> values(kGrid.voxels());
    const HostView3<float> volume(values.data(), kGrid.shape());
    ASSERT_TRUE(reconstructor->Finish(volume).ok());
    ASSERT_EQ(planes->size(), 3u);
    EXPECT_EQ((*planes)[0].orientation, PlaneOrientation::kAxial);
    EXPECT_EQ((*planes)[1].orientation, PlaneOrientation::kCoronal);
    EXPECT_EQ((*planes)[2].orientation, PlaneOrientation::kSagittal);
    for (const PreviewPlane& plane : *planes) {
      ASSERT_EQ(plane.hounsfield.size(), static_cast<size_t>(plane.grid.voxels()));
      const HostView3<const float> pixels(plane.hounsfield.data(), plane.grid.shape());
      // Where a pixel of the plane is in the volume.
      const Vec3 first = kGrid.WorldToVoxel(plane.grid.origin);
      for (int k = 0; k < plane.grid.nz; ++k) {
        for (int j = 0; j < plane.grid.ny; ++j) {
          for (int i = 0; i < plane.grid.nx; ++i) {
            const float expected = volume(std::lround(first.z) + k, std::lround(first.y) + j,
                                          std::lround(first.x) + i);
            ASSERT_NEAR(pixels(k, j, i), expected, 1e-3 * (std::abs(expected) + 1000))
                << static_cast<int>(plane.orientation) << " at " << i << ", " << j << ", " << k;
          }
        }
      }
    }
  }
}

TEST_P(LiveTest, APreviewGrowsWithTheChunks) {
  const auto reconstructor = New({.preview = true});
  const auto is_empty = [](const PreviewPlane& plane) {
    return std::all_of(plane.hounsfield.begin(), plane.hounsfield.end(),
                       [](float value) { return value == -1000; });
  };
  const auto before = *reconstructor->TakePreview();
  EXPECT_TRUE(std::all_of(before.begin(), before.end(), is_empty));
  ASSERT_TRUE(Push(*reconstructor, plan_.chunks[0]).ok());
  const auto first = *reconstructor->TakePreview(), again = *reconstructor->TakePreview();
  EXPECT_FALSE(std::any_of(first.begin(), first.end(), is_empty));
  EXPECT_EQ(first[1].hounsfield, again[1].hounsfield);
  ASSERT_TRUE(Push(*reconstructor, plan_.chunks[1]).ok());
  EXPECT_NE(first[1].hounsfield, (*reconstructor->TakePreview())[1].hounsfield);
  EXPECT_EQ(New({})->TakePreview().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(LiveTest, TheEndInStepsGivesTheSameVolumeAndTellsOfEverySliceOnce) {
  const std::vector<float> expected = Volume(*New({}));
  const auto reconstructor = New({});
  for (int acquisition = 0; acquisition < 2; ++acquisition) {
    std::vector<float> values(kGrid.voxels(), -1);
    const HostView3<float> volume(values.data(), kGrid.shape());
    const auto none = reconstructor->FinishStep(volume, nullptr);
    EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
    for (const Chunk& chunk : plan_.chunks) ASSERT_TRUE(Push(*reconstructor, chunk).ok());
    EXPECT_EQ(reconstructor->AwaitFinish().code(), absl::StatusCode::kFailedPrecondition);

    std::vector<int> told(kGrid.nz);
    const int64_t slice = int64_t{kGrid.ny} * kGrid.nx;
    const SlicesArrived arrived = [&](int first, int slices) {
      ASSERT_GE(first, 0);
      ASSERT_LE(first + slices, kGrid.nz);
      for (int z = first; z < first + slices; ++z) ++told[z];
      // They are there, not only on their way.
      EXPECT_TRUE(std::equal(expected.begin() + first * slice,
                             expected.begin() + (first + slices) * slice,
                             values.begin() + first * slice));
    };
    int steps = 1;
    for (; steps < 1000; ++steps) {
      const auto done = reconstructor->FinishStep(volume, arrived);
      ASSERT_TRUE(done.ok()) << done.status();
      if (*done) break;
    }
    EXPECT_TRUE(*reconstructor->FinishStep(volume, arrived));  // nothing is left to do
    // The slabs that are open, and for each further round all chunks and again the open slabs.
    std::vector<int> slabs_of(2);
    for (const Slab& slab : plan_.slabs) ++slabs_of[slab.device];
    const int rounds = plan_.order == Order::kChunksFirst
                           ? 1
                           : *std::max_element(slabs_of.begin(), slabs_of.end());
    EXPECT_EQ(steps, 1 + (rounds - 1) * (static_cast<int>(plan_.chunks.size()) + 1));
    ASSERT_TRUE(reconstructor->AwaitFinish().ok());
    EXPECT_THAT(told, ::testing::Each(1));
    EXPECT_EQ(values, expected);
  }
}

TEST_P(LiveTest, TheTraceMayBeTakenAfterEveryPush) {
  const auto reconstructor = New({});
  double last = 0;
  for (const Chunk& chunk : plan_.chunks) {
    ASSERT_TRUE(Push(*reconstructor, chunk).ok());
    const auto trace = reconstructor->TakeTrace();
    ASSERT_TRUE(trace.ok()) << trace.status();
    double end = last;
    for (const DeviceSpan& span : *trace) {
      EXPECT_GE(span.span.begin, last);
      end = std::max(end, span.span.end);
    }
    EXPECT_TRUE(std::any_of(trace->begin(), trace->end(), [](const DeviceSpan& span) {
      return span.span.stage == ops::Stage::kBackproject;
    }));
    last = end;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, LiveTest,
    ::testing::Values(Way{"together", Order::kChunksFirst, false, {{0, 0, 8}, {0, 8, 13}}},
                      Way{"devices", Order::kChunksFirst, false, {{0, 0, 6}, {1, 6, 15}}},
                      Way{"kept", Order::kSlabsFirst, true, {{0, 0, 8}, {0, 8, 6}, {0, 14, 7}}},
                      Way{"again", Order::kSlabsFirst, false, {{0, 0, 8}, {0, 8, 6}, {0, 14, 7}}},
                      Way{"uneven", Order::kSlabsFirst, false, {{0, 0, 8}, {0, 8, 5}, {1, 13, 8}}}),
    [](const auto& info) { return info.param.name; });

TEST(LiveMemory, APreviewIsWithinThePlansPeakBytes) {
  ops::Registry registry;
  reference::Register(registry);
  Acquisition acquisition{
      .detector = {.columns = kColumns, .rows = kRows, .pitch_u_mm = 5, .pitch_v_mm = 5}};
  acquisition.trajectory = *MakeCircularOrbit({.views = kViews,
                                               .source_to_isocenter_mm = 750,
                                               .source_to_detector_mm = 1200,
                                               .arc = 2 * kPi * (kViews - 1) / kViews},
                                              acquisition.detector);
  const OwnMemoryDevice ample;
  for (const Arrival arrival : {Arrival::kStreamed, Arrival::kComplete}) {
    const int64_t bytes = MakePlan(acquisition, kGrid, {}, registry, ample, arrival)->peak_bytes;
    for (const int64_t missing : {int64_t{0}, ample.VolumeBytes(kGrid) / 3}) {
      OwnMemoryDevice device(bytes - missing);
      const auto plan = MakePlan(acquisition, kGrid, {}, registry, device, arrival);
      ASSERT_TRUE(plan.ok()) << plan.status();
      if (arrival == Arrival::kStreamed) {
        EXPECT_EQ(plan->order == Order::kSlabsFirst, missing > 0);
      }
      const auto reconstructor = Reconstructor::Create(*plan, registry, device, {.preview = true});
      ASSERT_TRUE(reconstructor.ok()) << reconstructor.status();
      EXPECT_LE(device.allocated_bytes(), plan->peak_bytes);
      EXPECT_LE(plan->peak_bytes, device.limits().memory_bytes);
    }
  }
}

}  // namespace
}  // namespace isocenter::recon
