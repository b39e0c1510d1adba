#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

TEST(Sart, ConvergesToTheVolumeOfConsistentData) {
  const SmallScan scan = MakeSmallScan();
  for (const auto& [algorithm, iterations, subsets] :
       {std::tuple(Algorithm::kSirt, 60, 0), {Algorithm::kOsSart, 20, 5}, {Algorithm::kSart, 8, 0}}) {
    const Refined refined = Refine(scan, {.algorithm = algorithm,
                                          .iterations = iterations,
                                          .subsets = subsets,
                                          .warm_start = false});
    ASSERT_TRUE(refined.status.ok()) << refined.status;
    std::printf("%d: %g residual %g\n", (int)algorithm, RmseOf(scan, refined.hounsfield), refined.reports.back().relative_residual);
    EXPECT_LT(RmseOf(scan, refined.hounsfield), 60);
    EXPECT_LT(refined.reports.back().relative_residual, 0.02);
  }
}

}  // namespace
}  // namespace isocenter::recon
