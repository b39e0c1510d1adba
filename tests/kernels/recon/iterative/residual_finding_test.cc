#include "kernels/recon/iterative/residual_finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

std::optional<std::string> Found(std::initializer_list<double> residuals) {
  std::vector<IterationReport> reports;
  for (const double residual : residuals) {
    reports.push_back(
        {.iteration = static_cast<int>(reports.size()) + 1, .relative_residual = residual});
  }
  return ResidualFinding(reports, {});
}

TEST(ResidualFinding, NothingOfIterationsThatConverge) {
  EXPECT_EQ(Found({}), std::nullopt);
  EXPECT_EQ(Found({0.113, 0.093, 0.091}), std::nullopt);             // noise
  EXPECT_EQ(Found({1.0, 0.378}), std::nullopt);                      // from zero
  EXPECT_EQ(Found({0.0246, 0.0242, 0.0276, 0.0245}), std::nullopt);  // 50 subsets of 100 views
}

TEST(ResidualFinding, ARiseAtTheEndIsTold) {
  EXPECT_THAT(Found({0.05, 0.02, 0.023}),
              Optional(AllOf(HasSubstr("rises from 2.000e-02 in iteration 2 to 2.300e-02 in "
                                       "iteration 3: "),
                             Not(HasSubstr("at the end")))));
}

TEST(ResidualFinding, ARiseThatFallsBackIsTold) {
  EXPECT_THAT(Found({0.047, 0.120, 0.036}),
              Optional(HasSubstr("rises from 4.700e-02 in iteration 1 to 1.200e-01 in iteration 2, "
                                 "and is 3.600e-02 at the end: ")));
  EXPECT_THAT(Found({0.30, 0.52, 0.20}), Optional(HasSubstr("rises from 3.000e-01")));
}

TEST(ResidualFinding, AHighOneAtTheEndIsTold) {
  EXPECT_THAT(Found({0.770, 0.777, 0.778}),
              Optional(HasSubstr("the residual is 7.780e-01 after iteration 3; expected is at most "
                                 "0.5: ")));
  EXPECT_EQ(Found({1.0}), std::nullopt) << "of what it began with";
}

}  // namespace
}  // namespace isocenter::recon
