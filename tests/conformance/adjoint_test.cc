// ⟨Ax, y⟩ = ⟨x, Aᵀy⟩ for forward projectors and back-projections that claim to be matched.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/conformance/projectors.h"

namespace isocenter::conformance {
namespace {

class AdjointTest : public testing::TestWithParam<ProjectorMethod> {};

TEST(MatchedProjectors, AreUnderTest) { EXPECT_FALSE(MatchedProjectorsUnderTest().empty()); }

// The bound of the contract.
constexpr double kExactTolerance = 1e-5;
// Weights that are off by up to 1/256, in one direction differently from the other, and rounding to
// float16.
constexpr double kFastTolerance = 2e-3;

double Dot(const Array& a, const Array& b) {
  EXPECT_EQ(a.shape, b.shape);
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += double{a.values[i]} * double{b.values[i]};
  return sum;
}

// Noise shows where single entries of the two matrices differ; positive values add up what all
// entries are wrong by in the same sense.
TEST_P(AdjointTest, InnerProductsAgree) {
  ProjectorMethod back = GetParam();
  back.direction = Direction::kBack;
  const double tolerance =
      GetParam().method.precision == ops::Precision::kFast ? kFastTolerance : kExactTolerance;
  for (const ProjectCase& geometry : ProjectCases()) {
    for (const bool positive : {false, true}) {
      if (geometry.positive_input && !positive) continue;
      SCOPED_TRACE(geometry.name + (positive ? ", positive" : ", noise"));
      Array x = Noise(geometry.grid.shape(), 61), y = Noise(geometry.detector, 62);
      if (positive) {
        for (float& value : x.values) value = std::abs(value);
        for (float& value : y.values) value = std::abs(value);
      }
      const Array ax = Apply(GetParam(), geometry, x);
      const double scale = std::sqrt(Dot(ax, ax) * Dot(y, y));
      ASSERT_GT(scale, 0);
      EXPECT_LE(std::abs(Dot(ax, y) - Dot(x, Apply(back, geometry, y))) / scale, tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, AdjointTest, testing::ValuesIn(MatchedProjectorsUnderTest()),
                         [](const auto& info) { return ProjectorMethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
