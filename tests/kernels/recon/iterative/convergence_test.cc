// What theory says of each method, on data that the projector itself has made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

struct Case {
  IterativeSettings settings;
  double rmse;      // HU, at most
  double residual;  // ‖b - Ax‖ / ‖b‖, at most
};

class ConvergenceTest : public testing::TestWithParam<Case> {};

TEST_P(ConvergenceTest, ReachesTheVolumeOfConsistentData) {
  const SmallScan scan = MakeSmallScan();
  IterativeSettings settings = GetParam().settings;
  settings.warm_start = false;
  const Refined refined = Refine(scan, settings);
  ASSERT_TRUE(refined.status.ok()) << refined.status;
  const double rmse = RmseOf(scan, refined.hounsfield);
  const double residual = refined.reports.back().relative_residual;
  std::printf("%s: RMSE %.3f HU, residual %.2g\n", AlgorithmName(settings.algorithm).data(), rmse,
              residual);
  EXPECT_LT(rmse, GetParam().rmse);
  EXPECT_LT(residual, GetParam().residual);
}

INSTANTIATE_TEST_SUITE_P(
    Algorithms, ConvergenceTest,
    testing::Values(
        Case{{.algorithm = Algorithm::kSirt, .iterations = 60}, 60, 0.02},
        Case{{.algorithm = Algorithm::kSart, .iterations = 8}, 15, 0.005},
        Case{{.algorithm = Algorithm::kOsSart, .iterations = 20, .subsets = 5}, 30, 0.01},
        Case{{.algorithm = Algorithm::kOsSart, .matched = false, .iterations = 20, .subsets = 5},
             30,
             0.01},
        Case{{.algorithm = Algorithm::kSirt, .iterations = 30, .momentum = 0.5}, 60, 0.02},
        Case{{.algorithm = Algorithm::kOsSart, .iterations = 10, .subsets = 5, .momentum = 0.5},
             30,
             0.01},
        Case{{.algorithm = Algorithm::kCgls, .iterations = 30}, 15, 0.003},
        Case{{.algorithm = Algorithm::kLsqr, .iterations = 30}, 15, 0.003},
        Case{{.algorithm = Algorithm::kOsSqs, .iterations = 20, .subsets = 4}, 30, 0.01},
        Case{{.algorithm = Algorithm::kOsSqs, .iterations = 40, .subsets = 1}, 60, 0.02},
        Case{{.algorithm = Algorithm::kAsdPocs,
              .iterations = 20,
              .subsets = 5,
              .prior_strength = 0.01},
             30,
             0.01},
        Case{{.algorithm = Algorithm::kFistaTv, .iterations = 100}, 60, 0.02}),
    [](const auto& info) {
      const auto& settings = info.param.settings;
      return std::string(AlgorithmName(settings.algorithm).data(),
                         AlgorithmName(settings.algorithm).size()) +
             (settings.matched ? "" : "_unmatched") + (settings.momentum > 0 ? "_momentum" : "") +
             (settings.algorithm == Algorithm::kOsSqs && settings.subsets == 1 ? "_one_subset"
                                                                               : "");
    });

}  // namespace
}  // namespace isocenter::recon
