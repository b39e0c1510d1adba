#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

class RampFilterTest : public testing::TestWithParam<Method> {
 protected:
  Array Run(const std::string& backend, const std::string& method, const ops::RampFilterSpec& spec,
            const Array& rows, int threads = 2) {
    const auto session = OpenSession(backend, threads);
    const auto factory = AllMethods().ramp_filter.Find(backend, method);
    EXPECT_TRUE(factory.ok()) << factory.status();
    const auto operation = (*factory)(*session, spec);
    EXPECT_TRUE(operation.ok()) << operation.status();
    const auto in = NewStack(*session, rows.shape, ops::StackUse::kLineIntegrals);
    const auto out = NewStack(*session, rows.shape, ops::StackUse::kProjections);
    EXPECT_TRUE(in->Upload(0, rows.view()).ok());
    const absl::Status status = (*operation)->Run(static_cast<int>(rows.shape.slow), *in, *out);
    EXPECT_TRUE(status.ok()) << status;
    return Downloaded(*out);
  }
  Array RunTested(const ops::RampFilterSpec& spec, const Array& rows, int threads = 2) {
    return Run(GetParam().backend, GetParam().name, spec, rows, threads);
  }
};

// A float32 transform of n values adds about log2(n) roundings of 6e-8 relative to the row's root
// mean square: 1e-6 for n = 4096. Individual values lie a few standard deviations off.
constexpr double kRmsTolerance = 1e-6;
constexpr double kLargestTolerance = 6e-6;

constexpr ops::Truncation kTruncations[] = {ops::Truncation::kNone, ops::Truncation::kMirror,
                                            ops::Truncation::kCylinder, ops::Truncation::kAtract};

std::string Text(int columns, int rows, ops::Truncation truncation) {
  return std::to_string(columns) + " x " + std::to_string(rows) + ", truncation " +
         std::to_string(static_cast<int>(truncation));
}

// Second differences round off what is slow along a row, and the residual makes it large again, in
// proportion to the row's length: measured 3e-6 (CPU) and 6e-6 (CUDA) of 2049 columns, 8e-6 of
// 8192.
void ExpectWithin(const Difference& difference, ops::Truncation truncation, int columns) {
  const double factor = truncation == ops::Truncation::kAtract ? 1 + columns / 250.0 : 1;
  EXPECT_LT(difference.rms, factor * kRmsTolerance);
  EXPECT_LT(difference.largest, factor * kLargestTolerance);
}

TEST(RampFilterMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().ramp_filter).empty());
}

TEST_P(RampFilterTest, AgreesWithReferenceForAllSizes) {
  // Widths around multiples of vector lengths and such that the transform has factors 2, 3 and 5.
  for (const int columns : {1, 2, 3, 15, 16, 17, 45, 61, 75, 100, 129, 243, 320}) {
    for (const int rows : {1, 5, 16, 33}) {
      for (const ops::Truncation truncation : kTruncations) {
        // Of two columns both are edges, which are dropped.
        if (truncation == ops::Truncation::kAtract && columns < 3) continue;
        const Array noise = Noise({2, rows, columns}, 11);
        const ops::RampFilterSpec spec{.rows = rows, .columns = columns, .truncation = truncation};
        const Difference difference =
            Compare(RunTested(spec, noise), Run("reference", "", spec, noise));
        SCOPED_TRACE(Text(columns, rows, truncation));
        ExpectWithin(difference, truncation, columns);
      }
    }
  }
}

// Usual detectors, of each length that a transform of 256 times a small factor may have; and the
// widest, in and beyond what fits a GPU's shared memory.
TEST_P(RampFilterTest, AgreesWithReferenceForWideRows) {
  for (const int columns : {512, 620, 1024, 1248, 1281, 1537, 2048, 2049, 4097, 8192}) {
    for (const ops::Truncation truncation : kTruncations) {
      const Array noise = Noise({1, 3, columns}, 13);
      const ops::RampFilterSpec spec{.rows = 3, .columns = columns, .truncation = truncation};
      const Difference difference =
          Compare(RunTested(spec, noise), Run("reference", "", spec, noise));
      SCOPED_TRACE(Text(columns, 3, truncation));
      ExpectWithin(difference, truncation, columns);
    }
  }
}

// Shadows of cylinders that the detector cuts on one side or both, as patients' rows look: noise
// mostly runs into the limits of a fit. Every second one lacks something in its middle, more from
// row to row, so that all shares of the fit of the whole row occur.
TEST_P(RampFilterTest, AgreesWithReferenceForCutShadows) {
  constexpr int kRows = 24;
  for (const int columns : {40, 129, 310, 1240}) {
    Array shadows({1, kRows, columns});
    for (int v = 0; v < kRows; ++v) {
      const double radius = columns * (0.4 + 0.02 * v), axis = columns * (0.3 + 0.017 * v);
      for (int u = 0; u < columns; ++u) {
        const double half = radius * radius - (u - axis) * (u - axis);
        const double lung = v % 2 == 1 && std::abs(u - axis) < columns / 8.0 ? 0.01 * v : 0;
        shadows.view()(0, v, u) =
            static_cast<float>((1 - lung) * std::sqrt(std::max(0.0, half)) / radius);
      }
    }
    for (const ops::Truncation truncation : kTruncations) {
      const ops::RampFilterSpec spec{.rows = kRows, .columns = columns, .truncation = truncation};
      const Difference difference =
          Compare(RunTested(spec, shadows), Run("reference", "", spec, shadows));
      SCOPED_TRACE(Text(columns, kRows, truncation));
      // Filtered, so smooth a row is about as many times smaller as it has columns, which is what
      // its rounding is compared with: measured 5e-8 of each column, of second differences 3e-7.
      const double bound = (truncation == ops::Truncation::kAtract ? 6e-7 : 1e-7) * columns;
      EXPECT_LT(difference.rms, bound);
      EXPECT_LT(difference.largest, 5 * bound);
    }
  }
}

TEST_P(RampFilterTest, AgreesWithReferenceForAllWindows) {
  const Array noise = Noise({1, 9, 150}, 12);
  for (const ops::FilterWindow window :
       {ops::FilterWindow::kRamLak, ops::FilterWindow::kSheppLogan, ops::FilterWindow::kCosine,
        ops::FilterWindow::kHamming, ops::FilterWindow::kHann}) {
    for (const double cutoff : {1.0, 0.83, 0.4}) {
      for (const ops::Truncation truncation : kTruncations) {
        const ops::RampFilterSpec spec{.rows = 9,
                                       .columns = 150,
                                       .window = window,
                                       .cutoff = cutoff,
                                       .truncation = truncation};
        const Difference difference =
            Compare(RunTested(spec, noise), Run("reference", "", spec, noise));
        // What a window takes away leaves the rounding of the whole row beside a smaller result.
        EXPECT_LT(difference.rms, 5 * kRmsTolerance)
            << static_cast<int>(window) << " cut-off " << cutoff << " truncation "
            << static_cast<int>(truncation);
      }
    }
  }
}

TEST_P(RampFilterTest, RowsDoNotMix) {
  // Fast paths transform several rows at once. One row of ones among zeros must leave the others
  // at zero, up to rounding.
  Array rows({1, 40, 64});
  for (int u = 0; u < 64; ++u) rows.view()(0, 7, u) = 1;
  const Array filtered = RunTested({.rows = 40, .columns = 64}, rows);
  for (int v = 0; v < 40; ++v) {
    for (int u = 0; u < 64; ++u) {
      if (v != 7) {
        ASSERT_NEAR(filtered.view()(0, v, u), 0, 1e-7);
      }
    }
  }
}

TEST_P(RampFilterTest, IsIndependentOfThreads) {
  const Array noise = Noise({3, 67, 90}, 13);
  for (const ops::Truncation truncation : kTruncations) {
    const ops::RampFilterSpec spec{.rows = 67, .columns = 90, .truncation = truncation};
    const Array one = RunTested(spec, noise, 1);
    EXPECT_EQ(RunTested(spec, noise, 2).values, one.values);
    EXPECT_EQ(RunTested(spec, noise, 3).values, one.values);
  }
}

TEST_P(RampFilterTest, FiltersOnlyTheViewsAskedFor) {
  const auto session = OpenSession(GetParam().backend);
  const Array noise = Noise({3, 4, 20}, 14), before = Noise({3, 4, 20}, 15);
  const auto operation = (*AllMethods().ramp_filter.Find(GetParam().backend, GetParam().name))(
      *session, {.rows = 4, .columns = 20});
  const auto in = NewStack(*session, noise.shape, ops::StackUse::kLineIntegrals);
  const auto out = NewStack(*session, noise.shape, ops::StackUse::kProjections);
  ASSERT_TRUE(in->Upload(0, noise.view()).ok());
  ASSERT_TRUE(out->Upload(0, before.view()).ok());
  ASSERT_TRUE((*operation)->Run(2, *in, *out).ok());
  const Array after = Downloaded(*out);
  EXPECT_TRUE(
      std::equal(after.view().row(2, 0), after.view().row(2, 0) + 80, before.view().row(2, 0)));
  EXPECT_FALSE(
      std::equal(after.view().row(1, 0), after.view().row(1, 0) + 80, before.view().row(1, 0)));
}

TEST_P(RampFilterTest, RefusesWrongShapes) {
  const auto session = OpenSession(GetParam().backend);
  const auto factory = *AllMethods().ramp_filter.Find(GetParam().backend, GetParam().name);
  const auto operation = factory(*session, {.rows = 4, .columns = 20});
  const auto lines = NewStack(*session, {2, 4, 20}, ops::StackUse::kLineIntegrals);
  const auto filtered = NewStack(*session, {2, 4, 20}, ops::StackUse::kProjections);
  const auto narrow = NewStack(*session, {2, 4, 19}, ops::StackUse::kProjections);
  EXPECT_TRUE((*operation)->Run(2, *lines, *filtered).ok());
  for (const absl::Status& status :
       {(*operation)->Run(3, *lines, *filtered), (*operation)->Run(2, *lines, *narrow),
        (*operation)->Run(2, *filtered, *filtered), (*operation)->Run(2, *lines, *lines)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, RampFilterTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().ramp_filter)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
