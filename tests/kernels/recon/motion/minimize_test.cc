#include "kernels/recon/motion/minimize.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isocenter::recon {
namespace {

// A bent valley (Rosenbrock), whose minimum is at (1, 1).
absl::StatusOr<double> Valley(std::span<const double> x, std::span<double> gradient) {
  const double across = x[1] - x[0] * x[0], along = 1 - x[0];
  gradient[0] = -400 * x[0] * across - 2 * along;
  gradient[1] = 200 * across;
  return 100 * across * across + along * along;
}

TEST(Minimize, FindsTheMinimum) {
  std::vector<double> x{-1.2, 1};
  const absl::StatusOr<Minimum> found = Minimize(Valley, 0.1, 200, 1e-14, x);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_NEAR(x[0], 1, 1e-4);
  EXPECT_NEAR(x[1], 1, 1e-4);
  EXPECT_LT(found->value, 1e-8);
}

TEST(Minimize, StopsAfterSoManyIterationsWithTheBest) {
  std::vector<double> x{-1.2, 1};
  const absl::StatusOr<Minimum> found = Minimize(Valley, 0.1, 3, 1e-14, x);
  ASSERT_TRUE(found.ok()) << found.status();
  std::vector<double> slopes(2);
  EXPECT_EQ(*Valley(x, slopes), found->value);
  EXPECT_LT(found->value, 24.2);  // that of the beginning
}

TEST(Minimize, FirstStepIsAsLongAsAsked) {
  std::vector<double> lengths;
  const Function far_away = [&](std::span<const double> x, std::span<double> gradient) {
    gradient[0] = x[0] - 100;
    lengths.push_back(x[0]);
    return absl::StatusOr<double>((x[0] - 100) * (x[0] - 100) / 2);
  };
  std::vector<double> x{0};
  ASSERT_TRUE(Minimize(far_away, 0.25, 20, 1e-14, x).ok());
  ASSERT_GE(lengths.size(), 2u);
  EXPECT_NEAR(lengths[1], 0.25, 1e-12);
  EXPECT_NEAR(x[0], 100, 1e-3);
}

TEST(Minimize, ReturnsTheFunctionsError) {
  int calls = 0;
  const Function failing = [&](std::span<const double> x, std::span<double> gradient) {
    if (++calls == 4) return absl::StatusOr<double>(absl::AbortedError("enough"));
    return Valley(x, gradient);
  };
  std::vector<double> x{-1.2, 1};
  EXPECT_EQ(Minimize(failing, 0.1, 200, 1e-14, x).status(), absl::AbortedError("enough"));
}

}  // namespace
}  // namespace isocenter::recon
