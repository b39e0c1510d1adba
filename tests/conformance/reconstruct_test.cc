// Whole reconstructions, by every backend, in every order that its memory may force, against the
// reference.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "kernels/recon/reconstructor.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/geometries.h"

namespace isocenter::conformance {
namespace {

using recon::Arrival;
using recon::Order;

constexpr Shape3 kFrames{70, 90, 80};

recon::Acquisition MakeAcquisition(recon::PixelType type) {
  recon::Acquisition acquisition{
      .detector = {.columns = 80, .rows = 90, .pitch_u_mm = 2, .pitch_v_mm = 2},
      .pixel_type = type,
      .i0_counts = 50000};
  acquisition.trajectory = CArmMatrices(static_cast<int>(kFrames.slow), kFrames, 0.8, 1, 0.02);
  return acquisition;
}

struct Scan {
  recon::Acquisition acquisition;
  std::vector<uint16_t> counts;
  ops::RawFrames frames() const { return {.counts = {counts.data(), kFrames}}; }
};

Scan MakeScan() {
  Scan scan{.acquisition = MakeAcquisition(recon::PixelType::kUint16Counts)};
  const Array noise = Noise(kFrames, 61);
  for (const float value : noise.values) {
    scan.counts.push_back(static_cast<uint16_t>(20000 + 10000 * value));
  }
  return scan;
}

// All that can be corrected, with a table of HU.
std::shared_ptr<const ops::Calibration> EveryCorrection(const Detector& detector) {
  auto calibration = std::make_shared<ops::Calibration>();
  calibration->name = "every";
  calibration->detector = detector;
  std::mt19937 random(62);
  ops::PixelResponse& response = calibration->response.emplace();
  for (int pixel = 0; pixel < detector.rows * detector.columns; ++pixel) {
    response.offset_counts.push_back(static_cast<float>(Uniform(random, 500, 1500)));
    response.air_counts.push_back(static_cast<float>(Uniform(random, 45000, 55000)));
    if (pixel % 97 == 13) calibration->defects.pixels.push_back(pixel);
  }
  calibration->lag = {{.share = 0.03, .release = 0.5}, {.share = 0.02, .release = 0.05}};
  calibration->glare = {{.share = 0.05, .sigma_mm = 40}};
  calibration->air.columns = 20;
  calibration->scatter = ops::ScatterKernels{.groups = {{.from_mm = 0,
                                                         .amplitude = 0.1,
                                                         .alpha = 0.1,
                                                         .beta = 0.8,
                                                         .narrow_sigma_mm = 30,
                                                         .wide_sigma_mm = 90,
                                                         .wide_share = 0.4},
                                                        {.from_mm = 40,
                                                         .amplitude = 0.2,
                                                         .alpha = 0,
                                                         .beta = 0.9,
                                                         .narrow_sigma_mm = 40,
                                                         .wide_sigma_mm = 100,
                                                         .wide_share = 0.5}},
                                             .mu_water_per_mm = 0.02,
                                             .gamma_per_mm = 0.001};
  calibration->water.coefficient = {1, 0.03, 0.001};
  calibration->mu_water_per_mm = 0.1;
  calibration->hounsfield.points = {{-1000, -1000}, {-900, -880}, {100, 90}};
  EXPECT_TRUE(ops::CheckCalibration(*calibration).ok());
  return calibration;
}

// Tall: the parts of its height see different rows.
const VolumeGrid kGrid = CenteredGrid(40, 36, 96, {1, 1, 1});

class ReconstructTest : public testing::TestWithParam<std::string> {
 protected:
  static Array Reference(const Scan& scan, const recon::FdkSettings& settings) {
    const auto device = OpenDevice("reference");
    const auto plan = recon::MakePlan(scan.acquisition, kGrid, settings, AllMethods(), *device);
    EXPECT_TRUE(plan.ok()) << plan.status();
    Array volume(kGrid.shape());
    EXPECT_TRUE(
        recon::ReconstructAll(*plan, AllMethods(), *device, scan.frames(), volume.view()).ok());
    return volume;
  }

  /// Chunk by chunk, or all at once.
  static Array Run(const recon::ReconstructionPlan& plan, ops::Device& device, const Scan& scan,
                   bool stream) {
    const auto reconstructor = recon::Reconstructor::Create(plan, AllMethods(), device);
    EXPECT_TRUE(reconstructor.ok()) << reconstructor.status();
    Array volume(kGrid.shape());
    absl::Status status;
    if (stream) {
      for (const recon::Chunk& chunk : plan.chunks) {
        status.Update((*reconstructor)->Push(scan.frames().views(chunk.first_view, chunk.views)));
      }
      status.Update((*reconstructor)->Finish(volume.view()));
    } else {
      status.Update((*reconstructor)->Run(scan.frames(), volume.view()));
    }
    EXPECT_TRUE(status.ok()) << status;
    const auto trace = (*reconstructor)->TakeTrace();
    EXPECT_TRUE(trace.ok()) << trace.status();
    const recon::StageSeconds seconds = recon::SecondsOf(*trace);
    EXPECT_GT(seconds.backproject, 0);
    EXPECT_GT(seconds.download, 0);
    EXPECT_GE(seconds.busy, seconds.backproject * 0.999);
    return volume;
  }

  /// All ways that the backend has, by the memory that it is given.
  static void ExpectAgreement(const std::string& backend, ops::Precision precision,
                              double tolerance, const Scan& scan = MakeScan()) {
    // Little water, so that the -1000 HU of the background hide nothing.
    const recon::FdkSettings settings{.mu_water_per_mm = 0.1, .precision = precision};
    const Array expected = Reference(scan, settings);
    const auto probe = OpenDevice(backend);
    const int64_t slices16 = probe->VolumeBytes(recon::SlicesOf(kGrid, 0, 16));
    for (const Arrival arrival : {Arrival::kStreamed, Arrival::kComplete}) {
      // Chunks, and so the memory for them, are larger when all frames are there.
      const auto ample =
          recon::MakePlan(scan.acquisition, kGrid, settings, AllMethods(), *probe, arrival);
      ASSERT_TRUE(ample.ok()) << ample.status();
      for (const int64_t missing : {int64_t{0}, slices16, 4 * slices16}) {
        const auto device = AllMethods().OpenDevice(
            backend, {.memory_bytes = ample->peak_bytes - missing, .threads = 2});
        ASSERT_TRUE(device.ok()) << device.status();
        const auto plan =
            recon::MakePlan(scan.acquisition, kGrid, settings, AllMethods(), **device, arrival);
        if (missing > 0 && !probe->traits().own_memory) {
          EXPECT_TRUE(absl::IsResourceExhausted(plan.status()));
          continue;
        }
        ASSERT_TRUE(plan.ok()) << plan.status();
        SCOPED_TRACE(testing::Message()
                     << plan->slabs.size() << " slabs, order " << static_cast<int>(plan->order)
                     << ", projections kept " << plan->keep_projections);
        // With all frames there, slabs in turn may be chosen with ample memory, too.
        if (arrival == Arrival::kStreamed) {
          EXPECT_EQ(plan->order == Order::kSlabsFirst, missing > 0);
        }
        const Array whole = Run(*plan, **device, scan, /*stream=*/false);
        EXPECT_LT(Compare(whole, expected).rms, tolerance);
        if (arrival == Arrival::kStreamed) {
          EXPECT_EQ(Run(*plan, **device, scan, /*stream=*/true).values, whole.values);
        }
      }
    }
  }
};

TEST_P(ReconstructTest, EveryOrderOfWorkGivesTheReferencesVolume) {
  ExpectAgreement(GetParam(), ops::Precision::kExact, 1e-4);
}

// Lag remembers the frames before: also where slabs take all frames again.
TEST_P(ReconstructTest, CorrectionsInEveryOrderOfWorkGiveTheReferencesVolume) {
  Scan scan = MakeScan();
  scan.acquisition.calibration = EveryCorrection(scan.acquisition.detector);
  ExpectAgreement(GetParam(), ops::Precision::kExact, 1e-4, scan);
}

// One dose for each frame: half of it told makes half the dose.
TEST_P(ReconstructTest, DosesThatFramesTellAreTaken) {
  Scan scan = MakeScan();
  auto calibration = std::make_shared<ops::Calibration>();
  calibration->name = "doses";
  calibration->detector = scan.acquisition.detector;
  scan.acquisition.calibration = calibration;
  Scan half = scan;
  std::vector<float> doses;
  for (int view = 0; view < kFrames.slow; ++view) {
    doses.push_back(view % 3 == 0 ? 0.5f : 1.f);
    if (view % 3 != 0) continue;
    uint16_t* frame = half.counts.data() + view * kFrames.middle * kFrames.fast;
    for (int pixel = 0; pixel < kFrames.middle * kFrames.fast; ++pixel) {
      scan.counts[frame - half.counts.data() + pixel] = frame[pixel] & ~1;
      frame[pixel] /= 2;
    }
  }
  const auto device = OpenDevice(GetParam());
  const auto plan = recon::MakePlan(scan.acquisition, kGrid, {}, AllMethods(), *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto reconstructor = recon::Reconstructor::Create(*plan, AllMethods(), *device);
  ASSERT_TRUE(reconstructor.ok()) << reconstructor.status();
  for (const recon::Chunk& chunk : plan->chunks) {
    const auto status =
        (*reconstructor)
            ->Push(half.frames().views(chunk.first_view, chunk.views), {},
                   std::span<const float>(doses).subspan(chunk.first_view, chunk.views));
    ASSERT_TRUE(status.ok()) << status;
  }
  Array volume(kGrid.shape());
  ASSERT_TRUE((*reconstructor)->Finish(volume.view()).ok());
  EXPECT_LT(Compare(volume, Run(*plan, *device, scan, /*stream=*/true)).rms, 1e-5);
  doses[0] = -1;
  EXPECT_EQ((*reconstructor)
                ->Push(half.frames().views(0, plan->chunks[0].views), {},
                       std::span<const float>(doses).first(plan->chunks[0].views))
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(ReconstructTest, FastIsWithinItsBound) {
  ExpectAgreement(GetParam(), ops::Precision::kFast, 6e-3);
}

// While frames arrive: a preview changes nothing, and the end in steps tells of every slice once.
TEST_P(ReconstructTest, APreviewAndStepsAtTheEndChangeNotOneBit) {
  const Scan scan = MakeScan();
  const auto probe = OpenDevice(GetParam());
  const auto ample = recon::MakePlan(scan.acquisition, kGrid, {}, AllMethods(), *probe);
  ASSERT_TRUE(ample.ok()) << ample.status();
  const int64_t slices16 = probe->VolumeBytes(recon::SlicesOf(kGrid, 0, 16));
  for (const int64_t missing : {int64_t{0}, 4 * slices16}) {
    if (missing > 0 && !probe->traits().own_memory) continue;
    const auto device = AllMethods().OpenDevice(
        GetParam(), {.memory_bytes = ample->peak_bytes - missing, .threads = 2});
    ASSERT_TRUE(device.ok()) << device.status();
    const auto plan = recon::MakePlan(scan.acquisition, kGrid, {}, AllMethods(), **device);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const Array expected = Run(*plan, **device, scan, /*stream=*/true);
    const auto reconstructor = recon::Reconstructor::Create(*plan, AllMethods(), **device,
                                                            {.urgent = true, .preview = true});
    ASSERT_TRUE(reconstructor.ok()) << reconstructor.status();
    for (const recon::Chunk& chunk : plan->chunks) {
      ASSERT_TRUE((*reconstructor)->Push(scan.frames().views(chunk.first_view, chunk.views)).ok());
    }
    const auto planes = (*reconstructor)->TakePreview();
    ASSERT_TRUE(planes.ok()) << planes.status();
    Array volume(kGrid.shape());
    std::vector<std::atomic<int>> told(kGrid.nz);
    absl::StatusOr<bool> done = false;
    while (done.ok() && !*done) {
      done = (*reconstructor)->FinishStep(volume.view(), [&told](int first, int slices) {
        for (int z = first; z < first + slices; ++z) ++told[z];
      });
    }
    ASSERT_TRUE(done.ok()) << done.status();
    ASSERT_TRUE((*reconstructor)->AwaitFinish().ok());
    EXPECT_EQ(volume.values, expected.values);
    for (const std::atomic<int>& count : told) EXPECT_EQ(count, 1);
    // The grid has even sizes: a plane lies between two slices, and in this noise is near neither.
    // What it is must be what a volume of that one slice would be.
    for (const recon::PreviewPlane& plane : *planes) {
      const auto alone = recon::MakePlan(scan.acquisition, plane.grid, {}, AllMethods(), *probe);
      ASSERT_TRUE(alone.ok()) << alone.status();
      Array slice(plane.grid.shape());
      ASSERT_TRUE(
          recon::ReconstructAll(*alone, AllMethods(), *probe, scan.frames(), slice.view()).ok());
      Array got(plane.grid.shape());
      got.values = plane.hounsfield;
      // Less water's -1000 HU, which would hide differences.
      for (float& value : slice.values) value += 1000;
      for (float& value : got.values) value += 1000;
      // Both are within 1e-4 of the truth.
      EXPECT_LT(Compare(got, slice).rms, 2e-4) << static_cast<int>(plane.orientation);
    }
  }
}

// Sessions of one device beside each other: neither sees anything of the other.
TEST_P(ReconstructTest, TwoJobsOnOneDeviceDoNotMix) {
  const auto device = OpenDevice(GetParam());
  Scan scans[] = {MakeScan(), MakeScan()};
  for (uint16_t& count : scans[1].counts) count = static_cast<uint16_t>(50000 - count);
  const auto plan = recon::MakePlan(scans[0].acquisition, kGrid, {}, AllMethods(), *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Array alone[] = {Run(*plan, *device, scans[0], true), Run(*plan, *device, scans[1], true)};
  auto first = *recon::Reconstructor::Create(*plan, AllMethods(), *device);
  auto second = *recon::Reconstructor::Create(*plan, AllMethods(), *device);
  for (const recon::Chunk& chunk : plan->chunks) {
    ASSERT_TRUE(first->Push(scans[0].frames().views(chunk.first_view, chunk.views)).ok());
    ASSERT_TRUE(second->Push(scans[1].frames().views(chunk.first_view, chunk.views)).ok());
  }
  Array volumes[] = {Array(kGrid.shape()), Array(kGrid.shape())};
  ASSERT_TRUE(first->Finish(volumes[0].view()).ok());
  ASSERT_TRUE(second->Finish(volumes[1].view()).ok());
  EXPECT_EQ(volumes[0].values, alone[0].values);
  EXPECT_EQ(volumes[1].values, alone[1].values);
  EXPECT_NE(volumes[0].values, volumes[1].values);
}

INSTANTIATE_TEST_SUITE_P(All, ReconstructTest, testing::ValuesIn(ReconstructingBackends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace isocenter::conformance
