// CGLS and LSQR against the normal equations of a system small enough to be written out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

// Rows of A, one for each pixel, by projecting one voxel after the other.
std::vector<std::vector<double>> DenseMatrix(SmallScan scan) {
  std::vector<std::vector<double>> matrix(scan.frame_shape().count());
  for (int64_t voxel = 0; voxel < scan.grid.voxels(); ++voxel) {
    scan.truth.assign(scan.grid.voxels(), 0);
    scan.truth[voxel] = 1;
    Project(ops::ProjectorModel::kJoseph, scan);
    for (size_t pixel = 0; pixel < matrix.size(); ++pixel) {
      matrix[pixel].push_back(scan.frames[pixel]);
    }
  }
  return matrix;
}

// Gauss without pivots: for a matrix that is positive definite.
std::vector<double> Solve(std::vector<std::vector<double>> m, std::vector<double> right) {
  const size_t n = right.size();
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = m[i][k] / m[k][k];
      for (size_t j = k; j < n; ++j) m[i][j] -= factor * m[k][j];
      right[i] -= factor * right[k];
    }
  }
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; ++j) right[k] -= m[k][j] * right[j];
    right[k] /= m[k][k];
  }
  return right;
}

std::vector<double> NormalEquations(const std::vector<std::vector<double>>& a,
                                    const std::vector<float>& b, bool weighted) {
  const size_t n = a[0].size();
  std::vector<std::vector<double>> m(n, std::vector<double>(n));
  std::vector<double> right(n);
  for (size_t ray = 0; ray < a.size(); ++ray) {
    const double weight = weighted ? std::exp(-double{b[ray]}) : 1;
    for (size_t i = 0; i < n; ++i) {
      if (a[ray][i] == 0) continue;
      right[i] += weight * a[ray][i] * b[ray];
      for (size_t j = 0; j < n; ++j) m[i][j] += weight * a[ray][i] * a[ray][j];
    }
  }
  return Solve(std::move(m), std::move(right));
}

class LeastSquaresTest : public testing::TestWithParam<std::tuple<Algorithm, bool>> {};

TEST_P(LeastSquaresTest, SolvesTheNormalEquations) {
  const auto [algorithm, weighted] = GetParam();
  SmallScan scan = MakeSmallScan(9, 320, 4);
  std::mt19937 random(5);
  std::normal_distribution<float> noise(0, 0.1f);  // no volume explains it
  for (float& pixel : scan.frames) pixel += noise(random);
  const std::vector<double> expected = NormalEquations(DenseMatrix(scan), scan.frames, weighted);
  const Refined refined = Refine(scan, {.algorithm = algorithm,
                                        .iterations = 40,
                                        .warm_start = false,
                                        .statistical_weights = weighted});
  ASSERT_TRUE(refined.status.ok()) << refined.status;
  for (size_t i = 0; i < expected.size(); ++i) {
    // The matrix that was written out is rounded to float32.
    EXPECT_NEAR(refined.hounsfield[i], 1000 * (expected[i] / kMuWater - 1), 0.02) << i;
  }
}

TEST_P(LeastSquaresTest, TheResidualNeverGrows) {
  const auto [algorithm, weighted] = GetParam();
  SmallScan scan = MakeSmallScan(9, 320, 6);
  std::mt19937 random(5);
  std::normal_distribution<float> noise(0, 0.1f);
  for (float& pixel : scan.frames) pixel += noise(random);
  const Refined refined = Refine(scan, {.algorithm = algorithm,
                                        .iterations = 12,
                                        .warm_start = false,
                                        .statistical_weights = weighted});
  ASSERT_TRUE(refined.status.ok()) << refined.status;
  ASSERT_EQ(refined.reports.size(), 12u);
  for (size_t i = 1; i < refined.reports.size(); ++i) {
    EXPECT_LE(*refined.reports[i].objective, *refined.reports[i - 1].objective * (1 + 1e-12));
    EXPECT_LE(refined.reports[i].relative_residual, refined.reports[i - 1].relative_residual);
  }
  EXPECT_LT(refined.reports.back().relative_residual, 0.7);
}

TEST_P(LeastSquaresTest, GoesOnFromWhereItStarts) {
  const auto [algorithm, weighted] = GetParam();
  const SmallScan scan = MakeSmallScan(9, 320, 6);
  const auto device = OpenDevice("reference");
  ops::Device* const devices[] = {device.get()};
  const auto plan = *MakeRefinementPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
                                        {.algorithm = algorithm, .statistical_weights = weighted},
                                        TestRegistry(), devices);
  auto refinement = *Refinement::Create(plan, TestRegistry(), devices);
  ASSERT_TRUE(refinement->Push(scan.raw()).ok());
  std::vector<float> truth;
  for (const float mu : scan.truth) truth.push_back(1000 * (mu / 0.02f - 1));
  ASSERT_TRUE(refinement->Start({truth.data(), scan.grid.shape()}).ok());
  while (refinement->reports().empty()) ASSERT_TRUE(refinement->Step().ok());
  EXPECT_LT(refinement->reports()[0].relative_residual, 1e-6);
  std::vector<float> volume(truth.size());
  ASSERT_TRUE(refinement->Read({volume.data(), scan.grid.shape()}).ok());
  EXPECT_LT(LargestDifference(volume, truth), 0.01);
}

INSTANTIATE_TEST_SUITE_P(Methods, LeastSquaresTest,
                         testing::Combine(testing::Values(Algorithm::kCgls, Algorithm::kLsqr),
                                          testing::Bool()));

}  // namespace
}  // namespace isocenter::recon
