#include "kernels/recon/motion/focus.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/recon/motion/matrix_model.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

class FocusTest : public testing::Test {
 protected:
  FocusTest() : scan_(MakeSmallScan(40, 220, 16)), device_(OpenDevice("cpu")), threads_(1) {
    const ops::Device* const devices[] = {device_.get()};
    plan_ = *MakePlan(scan_.acquisition, scan_.grid, {.mu_water_per_mm = kMuWater}, TestRegistry(),
                      devices, Arrival::kComplete);
    focus_ = *Focus::Create(plan_, PixelBins{}, {scan_.frames.data(), scan_.frame_shape()},
                            TestRegistry(), *device_, threads_);
  }

  int views() const { return plan_.views(); }

  double At(const Trajectory& matrices, const std::vector<double>& shares) {
    std::vector<ops::MatrixSlope> slopes(views());
    std::vector<double> by_share(views());
    return *focus_->Evaluate(matrices, shares, slopes, by_share);
  }

  SmallScan scan_;
  std::unique_ptr<ops::Device> device_;
  ThreadPool threads_;
  ReconstructionPlan plan_;
  std::unique_ptr<Focus> focus_;
};

TEST_F(FocusTest, IsBestOfAStillObjectAtRest) {
  const std::vector<double> ones(views(), 1.0);
  const double at_rest = At(scan_.acquisition.trajectory, ones);
  std::vector<RigidPose> poses(views());
  for (int view = views() / 2; view < views(); ++view) poses[view].shift_mm = {0, 6, 6};
  EXPECT_GT(At(*SeenAtRest(scan_.acquisition.trajectory, poses), ones), at_rest + 0.05);
}

// Fainter frames make a fainter volume, which is no sharper.
TEST_F(FocusTest, DoesNotDependOnHowMuchAllViewsCount) {
  const Trajectory& matrices = scan_.acquisition.trajectory;
  const double ones = At(matrices, std::vector<double>(views(), 1.0));
  EXPECT_NEAR(At(matrices, std::vector<double>(views(), 0.8)), ones, 1e-4);
}

TEST_F(FocusTest, TellsItsDerivativesBySharesAndByMatrices) {
  std::mt19937 random(5);
  const auto draw = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  std::vector<double> shares(views()), share_way(views());
  Trajectory matrices, way;
  for (int view = 0; view < views(); ++view) {
    shares[view] = 1 + 0.2 * draw();
    share_way[view] = draw();
    const RigidPose pose{.turn_rad = {0.02 * draw(), 0.02 * draw(), 0.02 * draw()},
                         .shift_mm = {3 * draw(), 3 * draw(), 3 * draw()}};
    matrices.push_back(*SeenAtRest(scan_.acquisition.trajectory[view], pose));
    // Where the same view is a millimetre further.
    const Vec3 shift{draw(), draw(), draw()};
    const ProjectionMatrix& m = matrices.back();
    ProjectionMatrix by;
    for (double& element : by.m) element = 0;
    for (int row = 0; row < 3; ++row) {
      by.m[4 * row + 3] = m(row, 0) * shift.x + m(row, 1) * shift.y + m(row, 2) * shift.z;
    }
    way.push_back(by);
  }
  const auto along = [&](double of_shares, double of_matrices) {
    std::vector<double> s = shares;
    Trajectory t = matrices;
    for (int view = 0; view < views(); ++view) {
      s[view] += of_shares * share_way[view];
      for (int i = 0; i < 12; ++i) t[view].m[i] += of_matrices * way[view].m[i];
    }
    return At(t, s);
  };
  std::vector<ops::MatrixSlope> slopes(views());
  std::vector<double> by_share(views());
  ASSERT_TRUE(focus_->Evaluate(matrices, shares, slopes, by_share).ok());
  double expected_shares = 0, expected_matrices = 0;
  for (int view = 0; view < views(); ++view) {
    expected_shares += by_share[view] * share_way[view];
    for (int i = 0; i < 12; ++i) expected_matrices += slopes[view][i] * way[view].m[i];
  }
  // Bilinear samples bend at pixels' centres and bins have widths: differences are near, no more.
  constexpr double kShare = 0.001, kMm = 0.005;
  const double by_shares = (along(kShare, 0) - along(-kShare, 0)) / (2 * kShare);
  EXPECT_GT(std::abs(by_shares), 1e-3);
  EXPECT_NEAR(expected_shares, by_shares, 0.05 * std::abs(by_shares));
  const double by_matrices = (along(0, kMm) - along(0, -kMm)) / (2 * kMm);
  EXPECT_GT(std::abs(by_matrices), 1e-3);
  EXPECT_NEAR(expected_matrices, by_matrices, 0.05 * std::abs(by_matrices));
}

}  // namespace
}  // namespace isocenter::recon
