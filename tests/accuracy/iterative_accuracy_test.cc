// What iterative reconstruction is for: less error than FDK, at the same resolution, from few and
// noisy views, and inside of a grid that the patient reaches out of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kernels/backends.h"
#include "kernels/phantom/phantom.h"
#include "tests/accuracy/image_quality.h"

namespace isocenter::quality {
namespace {

// A sixteenth of a clinical volume's voxels keeps it to a minute; `isocenter-bench quality` has the
// full table.
constexpr ScanOptions kSmall{.size = 64};

struct Bound {
  const char* name;
  double ratio;  // of the error to that of FDK with edges as wide
};

class IterativeAccuracyTest : public testing::TestWithParam<Bound> {
 protected:
  static void SetUpTestSuite() {
    ThreadPool pool(UsableCores());
    auto scan = MakeScan(kSmall, pool);
    ASSERT_TRUE(scan.ok()) << scan.status();
    scan_ = new Scan(*std::move(scan));
    judge_ = new Judge(*scan_);
    device_ = Backends().OpenDevice("cpu", {})->release();
    auto curve = FdkCurve::Make(*scan_, *judge_, Backends(), *device_);
    ASSERT_TRUE(curve.ok()) << curve.status();
    curve_ = new FdkCurve(*std::move(curve));
  }
  static void TearDownTestSuite() {
    delete curve_;
    delete judge_;
    delete scan_;
    delete device_;
  }

  static Scan* scan_;
  static Judge* judge_;
  static FdkCurve* curve_;
  static ops::Device* device_;
};

Scan* IterativeAccuracyTest::scan_ = nullptr;
Judge* IterativeAccuracyTest::judge_ = nullptr;
FdkCurve* IterativeAccuracyTest::curve_ = nullptr;
ops::Device* IterativeAccuracyTest::device_ = nullptr;

TEST_P(IterativeAccuracyTest, HasLessErrorThanFdkAtTheSameResolution) {
  for (const Candidate& candidate : Candidates()) {
    if (candidate.name != GetParam().name) continue;
    const auto volume = Refine(*scan_, candidate, Backends(), *device_);
    ASSERT_TRUE(volume.ok()) << volume.status();
    const Figures figures = judge_->Measure(*volume);
    const double fdk = curve_->RmseAt(figures.edge_mm);
    std::printf("%s: RMSE %.2f HU, edges %.2f mm; FDK with such edges %.2f HU\n",
                candidate.name.c_str(), figures.rmse, figures.edge_mm, fdk);
    EXPECT_LT(figures.rmse, GetParam().ratio * fdk);
    return;
  }
  FAIL() << "no candidate " << GetParam().name;
}

// Methods without a prior fit noise as FDK does: at the same resolution they are about as good.
INSTANTIATE_TEST_SUITE_P(Algorithms, IterativeAccuracyTest,
                         testing::Values(Bound{"SIRT", 1.2}, Bound{"SART", 1.2},
                                         Bound{"OS-SART", 1.2}, Bound{"CGLS", 1.2},
                                         Bound{"LSQR", 1.2}, Bound{"OS-SQS", 0.6},
                                         Bound{"ASD-POCS", 0.6}, Bound{"FISTA-TV", 0.6}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A grid of half the head's width. What lies outside attenuates all the same, and without
// surroundings must be explained by voxels inside.
TEST(IterativeAccuracy, SurroundingsKeepTheOutsideOut) {
  ThreadPool pool(UsableCores());
  auto scan = MakeScan({.size = 64, .every = 3, .photons = 0, .electronic_counts = 0}, pool);
  ASSERT_TRUE(scan.ok()) << scan.status();
  const VolumeGrid whole = scan->grid;
  scan->grid = CenteredGrid(32, 32, 24, whole.spacing);
  std::vector<float> truth;
  for (int k = 20; k < 44; ++k) {
    for (int j = 16; j < 48; ++j) {
      for (int i = 16; i < 48; ++i) truth.push_back(scan->truth[(k * 64 + j) * 64 + i]);
    }
  }
  const auto device = *Backends().OpenDevice("cpu", {});
  double rmse[2];
  for (const int factor : {0, 2}) {
    const Candidate candidate{
        "", {.iterations = 12, .warm_start = false, .surroundings_factor = factor}};
    const auto volume = Refine(*scan, candidate, Backends(), *device);
    ASSERT_TRUE(volume.ok()) << volume.status();
    double square = 0;
    for (size_t i = 0; i < truth.size(); ++i) {
      square += ((*volume)[i] - truth[i]) * ((*volume)[i] - truth[i]);
    }
    rmse[factor > 0] = std::sqrt(square / static_cast<double>(truth.size()));
  }
  std::printf("RMSE inside: %.1f HU without surroundings, %.1f HU with\n", rmse[0], rmse[1]);
  EXPECT_LT(rmse[1], 0.3 * rmse[0]);
}

}  // namespace
}  // namespace isocenter::quality
