// The bound that counts: how far the cpu backend's Hounsfield units are from the reference's.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/units.h"
#include "kernels/cpu/simd_target.h"
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

class HeadAccuracyTest : public testing::TestWithParam<std::string> {
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
    reference_ = new std::vector<float>(Reconstruct("reference"));
  }
  static void TearDownTestSuite() {
    delete reference_;
    delete frames_;
    delete acquisition_;
  }
  void TearDown() override { cpu::ForceSimdTarget(""); }

  static std::vector<float> Reconstruct(const char* backend) {
    const auto device = Backends().OpenDevice(backend, {.threads = 2});
    EXPECT_TRUE(device.ok()) << device.status();
    const auto plan = recon::MakePlan(*acquisition_, kSlab, {.mu_water_per_mm = 0.02}, **device);
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

TEST_P(HeadAccuracyTest, CpuIsWithinTwoHundredthsOfAHounsfieldUnitOfReference) {
  if (!cpu::ForceSimdTarget(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  const std::vector<float> cpu = Reconstruct("cpu");
  double square = 0, largest = 0, brightest = 0;
  for (size_t i = 0; i < cpu.size(); ++i) {
    const double expected = (*reference_)[i];
    const double difference = std::abs(double{cpu[i]} - expected);
    square += difference * difference;
    // A NaN must not pass for a small difference.
    if (!(difference <= largest)) largest = difference;
    brightest = std::max(brightest, expected);
  }
  const double rmse = std::sqrt(square / static_cast<double>(cpu.size()));
  std::printf("%s: RMSE %.5f HU, largest %.4f HU\n", GetParam().c_str(), rmse, largest);
  EXPECT_GT(brightest, 500) << "no bone: the head was not reconstructed";
  EXPECT_LT(rmse, 0.02);     // the project's bound
  EXPECT_LT(largest, 0.25);  // single voxels at the skull's edge, where slopes are steepest
}

INSTANTIATE_TEST_SUITE_P(Simd, HeadAccuracyTest, testing::Values("AVX-512", "AVX2", "SSE4"),
                         [](const auto& info) {
                           return info.param == "AVX-512" ? std::string("AVX512") : info.param;
                         });

}  // namespace
}  // namespace isocenter
