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

IterationReport Pass(int iteration, double residual, bool taken = true) {
  return {.iteration = iteration, .relative_residual = residual, .taken = taken};
}

TEST(ResidualFinding, APassThatWasNotTakenIsNoRise) {
  const IterativeSettings os_sqs{.algorithm = Algorithm::kOsSqs};
  EXPECT_THAT(
      ResidualFinding(std::vector{Pass(1, 0.05), Pass(2, 1690, false), Pass(3, 0.04)}, os_sqs),
      Optional(AllOf(HasSubstr("iteration 2 was refused"), HasSubstr("(residual 1.690e+03)"),
                     HasSubstr("the volume of iteration 1 stands, the next began anew from there"),
                     HasSubstr("the residual is 4.000e-02 at the end"), Not(HasSubstr("rises")),
                     Not(HasSubstr("relaxation")))));
  EXPECT_THAT(ResidualFinding(std::vector{Pass(1, 1690, false), Pass(2, 0.05)}, os_sqs),
              Optional(HasSubstr("the volume that it began with stands, the next")));
  EXPECT_THAT(ResidualFinding(std::vector{Pass(1, 0.05), Pass(2, 1690, false)}, os_sqs),
              Optional(HasSubstr("stands, no iteration came after it")));
  EXPECT_THAT(ResidualFinding(std::vector{Pass(1, 9, false), Pass(2, 0.04), Pass(3, 0.09)}, os_sqs),
              Optional(HasSubstr("rises from 4.000e-02 in iteration 2")));
}

// Advice that the algorithm has no setting for is none.
TEST(ResidualFinding, NamesWhatTheAlgorithmHas) {
  const std::vector rising{Pass(1, 0.05), Pass(2, 0.09)};
  const auto told = [&](IterativeSettings settings) {
    return ResidualFinding(rising, settings).value_or("");
  };
  EXPECT_THAT(told({.algorithm = Algorithm::kOsSqs}),
              AllOf(HasSubstr("iterative.subsets"), Not(HasSubstr("relaxation")),
                    Not(HasSubstr("momentum"))));
  EXPECT_THAT(told({.algorithm = Algorithm::kSirt}),
              AllOf(HasSubstr("iterative.momentum"), Not(HasSubstr("subsets"))));
  EXPECT_THAT(told({.algorithm = Algorithm::kAsdPocs}),
              AllOf(HasSubstr("iterative.relaxation"), Not(HasSubstr("momentum"))));
  EXPECT_THAT(told({.algorithm = Algorithm::kCgls}), HasSubstr("Fewer iterative.iterations"));
  EXPECT_THAT(told({.algorithm = Algorithm::kFistaTv, .prior_strength = 7}),
              HasSubstr("Is iterative.prior_strength (7) too much"));
}

TEST(ResidualFinding, AHighOneAtTheEndIsTold) {
  EXPECT_THAT(Found({0.770, 0.777, 0.778}),
              Optional(HasSubstr("the residual is 7.780e-01 after iteration 3; expected is at most "
                                 "0.5: ")));
  EXPECT_EQ(Found({1.0}), std::nullopt) << "of what it began with";
}

}  // namespace
}  // namespace isocenter::recon
