// The bound that counts: how far a backend's Hounsfield units are from the reference's.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/units.h"
#include "kernels/cpu/device/simd_target.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/phantom.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter {
namespace {

// A C-arm's detector read out 4x4 and voxels of two of its pixels: the larger the voxels, the more
// perspective bends a block of them. A slab through the middle spares the reference's time.
constexpr Detector kDetector{.columns = 310, .rows = 240, .pitch_u_mm = 1.232, .pitch_v_mm = 1.232};
constexpr int kViews = 72;
constexpr Shape3 kFrames{kViews, kDetector.rows, kDetector.columns};
const VolumeGrid kSlab = CenteredGrid(128, 16, 128, {1.56, 1.56, 1.56});

struct Candidate {
  std::string name, backend, simd;
  ops::Precision precision;
  double rmse, largest;  // HU; the project's bounds, and single voxels at the skull's steep edge
};

class HeadAccuracyTest : public testing::TestWithParam<Candidate> {
 protected:
  static void SetUpTestSuite() {
    const auto trajectory = MakeWobblingOrbit({.views = kViews,
                                               .source_to_isocenter_mm = 750,
                                               .source_to_detector_mm = 1200,
                                               .start_angle = -1.7,
                                               .arc = DegreesToRadians(207)},
                                              kDetector, 1.0, 3);
    ASSERT_TRUE(trajectory.ok()) << trajectory.status();
    acquisition_ = new recon::Acquisition{.detector = kDetector,
                                          .pixel_type = recon::PixelType::kFloat32LineIntegrals,
                                          .trajectory = *trajectory};
    const auto head = phantom::MakePhantom("head", 100, 0.02);
    ASSERT_TRUE(head.ok()) << head.status();
    frames_ = new std::vector<float>(kFrames.count());
    ThreadPool pool(2);
    for (int64_t view = 0; view < kViews; ++view) {
      phantom::ProjectView(**head, (*trajectory)[view], kDetector, 1, pool,
                           HostView3<float>(frames_->data(), kFrames).slices(view, 1));
    }
    reference_ = new std::vector<float>(Reconstruct("reference", ops::Precision::kExact));
  }
  static void TearDownTestSuite() {
    delete reference_;
    delete frames_;
    delete acquisition_;
  }
  void TearDown() override { cpu::ForceSimdTarget(""); }

  static std::vector<float> Reconstruct(const std::string& backend, ops::Precision precision) {
    const auto device = Backends().OpenDevice(backend, {.threads = 2});
    EXPECT_TRUE(device.ok()) << device.status();
    const auto plan = recon::MakePlan(*acquisition_, kSlab,
                                      {.mu_water_per_mm = 0.02, .precision = precision}, **device);
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<float> volume(kSlab.voxels());
    const auto seconds = recon::ReconstructAll(*plan, Backends(), **device,
                                               {.line_integrals = {frames_->data(), kFrames}},
                                               {volume.data(), kSlab.shape()});
    EXPECT_TRUE(seconds.ok()) << seconds.status();
    return volume;
  }

  static recon::Acquisition* acquisition_;
  static std::vector<float>* frames_;
  static std::vector<float>* reference_;
};

recon::Acquisition* HeadAccuracyTest::acquisition_ = nullptr;
std::vector<float>* HeadAccuracyTest::frames_ = nullptr;
std::vector<float>* HeadAccuracyTest::reference_ = nullptr;

TEST_P(HeadAccuracyTest, IsWithinItsBoundOfTheReference) {
  const Candidate& candidate = GetParam();
  const auto device = Backends().OpenDevice(candidate.backend, {});
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  if (!cpu::ForceSimdTarget(candidate.simd)) {
    GTEST_SKIP() << "this machine has no " << candidate.simd;
  }
  const std::vector<float> got = Reconstruct(candidate.backend, candidate.precision);
  double square = 0, largest = 0, brightest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double expected = (*reference_)[i];
    const double difference = std::abs(double{got[i]} - expected);
    square += difference * difference;
    // A NaN must not pass for a small difference.
    if (!(difference <= largest)) largest = difference;
    brightest = std::max(brightest, expected);
  }
  const double rmse = std::sqrt(square / static_cast<double>(got.size()));
  std::printf("%s: RMSE %.5f HU, largest %.4f HU\n", candidate.name.c_str(), rmse, largest);
  EXPECT_GT(brightest, 500) << "no bone: the head was not reconstructed";
  EXPECT_LT(rmse, candidate.rmse);
  EXPECT_LT(largest, candidate.largest);
}

INSTANTIATE_TEST_SUITE_P(
    Backends, HeadAccuracyTest,
    testing::Values(Candidate{"AVX512", "cpu", "AVX-512", ops::Precision::kExact, 0.02, 0.25},
                    Candidate{"AVX2", "cpu", "AVX2", ops::Precision::kExact, 0.02, 0.25},
                    Candidate{"SSE4", "cpu", "SSE4", ops::Precision::kExact, 0.02, 0.25},
                    Candidate{"CudaExact", "cuda", "", ops::Precision::kExact, 0.01, 0.25},
                    // Pixels twice as coarse as a C-arm's make steps twice as steep, and 72 views
                    // average little: in a full scan's sphere of 60 mm it is within 0.05.
                    Candidate{"CudaFast", "cuda", "", ops::Precision::kFast, 0.3, 4}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace isocenter
