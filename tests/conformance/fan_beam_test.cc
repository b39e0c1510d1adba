#include "tests/conformance/fan_beam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

Array Slices(const FanBeamGeometry& geometry, int slices, uint32_t seed) {
  return Noise({geometry.views, slices, geometry.channels}, seed);
}

class FanBeamFilterTest : public testing::TestWithParam<Method> {
 protected:
  Array Run(const std::string& backend, const std::string& method,
            const ops::FanBeamFilterSpec& spec, const Array& rows, int first_view = 0,
            int threads = 2) {
    const auto session = OpenSession(backend, threads);
    const auto operation = (*AllMethods().fan_beam_filter.Find(backend, method))(*session, spec);
    EXPECT_TRUE(operation.ok()) << operation.status();
    const auto in = NewStack(*session, rows.shape, ops::StackUse::kLineIntegrals);
    const auto out = NewStack(*session, rows.shape, ops::StackUse::kLineIntegrals);
    EXPECT_TRUE(in->Upload(0, rows.view()).ok());
    const absl::Status status = (*operation)->Run(first_view, *in, *out);
    EXPECT_TRUE(status.ok()) << status;
    return Downloaded(*out);
  }
  Array RunTested(const ops::FanBeamFilterSpec& spec, const Array& rows, int threads = 2) {
    return Run(GetParam().backend, GetParam().name, spec, rows, 0, threads);
  }
};

// As the ramp filter's: a float32 transform adds about log2(n) roundings of 6e-8.
constexpr double kFilterRms = 1e-6;
constexpr double kFilterLargest = 6e-6;

TEST(FanBeamMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().fan_beam_filter).empty());
  EXPECT_FALSE(MethodsUnderTest(AllMethods().fan_beam_backproject).empty());
}

TEST_P(FanBeamFilterTest, AgreesWithReference) {
  for (const FanBeamCase& tested : FanBeamCases()) {
    for (const auto form : {ops::FanBeamKernelForm::kExact, ops::FanBeamKernelForm::kSampledRamp}) {
      const ops::FanBeamFilterSpec spec{.geometry = tested.geometry, .slices = 3, .form = form};
      const Array rows = Slices(tested.geometry, 3, 21);
      const Difference difference =
          Compare(RunTested(spec, rows), Run("reference", "", spec, rows));
      EXPECT_LT(difference.rms, kFilterRms) << tested.name;
      EXPECT_LT(difference.largest, kFilterLargest) << tested.name;
    }
  }
}

TEST_P(FanBeamFilterTest, AgreesWithReferenceForWindows) {
  const FanBeamCase tested = FanBeamCases().front();
  const Array rows = Slices(tested.geometry, 1, 22);
  for (const auto window : {ops::FilterWindow::kHann, ops::FilterWindow::kSheppLogan}) {
    const ops::FanBeamFilterSpec spec{.geometry = tested.geometry, .window = window, .cutoff = 0.8};
    const Difference difference = Compare(RunTested(spec, rows), Run("reference", "", spec, rows));
    // What a window takes away leaves the rounding of the whole row beside a smaller result.
    EXPECT_LT(difference.rms, 5 * kFilterRms);
  }
}

TEST_P(FanBeamFilterTest, TakesPartsOfAScanAndFewerSlices) {
  for (const FanBeamCase& tested : FanBeamCases()) {
    if (tested.name != "arc_short") continue;
    const ops::FanBeamFilterSpec spec{.geometry = tested.geometry, .slices = 7};
    const Array rows = Noise({9, 2, tested.geometry.channels}, 23);
    for (const int first : {0, 5, tested.geometry.views - 9}) {
      const Array got = Run(GetParam().backend, GetParam().name, spec, rows, first);
      EXPECT_LT(Compare(got, Run("reference", "", spec, rows, first)).rms, kFilterRms) << first;
    }
  }
}

TEST_P(FanBeamFilterTest, ValuesThatAreNotFiniteCountAsZero) {
  const FanBeamGeometry geometry = FanBeamCases().front().geometry;
  const ops::FanBeamFilterSpec spec{.geometry = geometry};
  Array rows = Slices(geometry, 1, 24), zeros = rows;
  rows.view()(3, 0, 50) = std::numeric_limits<float>::quiet_NaN();
  rows.view()(4, 0, 110) = std::numeric_limits<float>::infinity();
  zeros.view()(3, 0, 50) = 0;
  zeros.view()(4, 0, 110) = 0;
  EXPECT_EQ(RunTested(spec, rows).values, RunTested(spec, zeros).values);
}

TEST_P(FanBeamFilterTest, FiltersInPlaceAndIndependentlyOfThreads) {
  const FanBeamGeometry geometry = FanBeamCases().front().geometry;
  const ops::FanBeamFilterSpec spec{.geometry = geometry, .slices = 2};
  const Array rows = Slices(geometry, 2, 25);
  const Array apart = RunTested(spec, rows);
  EXPECT_EQ(RunTested(spec, rows, 1).values, apart.values);
  const auto session = OpenSession(GetParam().backend);
  const auto operation =
      (*AllMethods().fan_beam_filter.Find(GetParam().backend, GetParam().name))(*session, spec);
  const auto stack = NewStack(*session, rows.shape, ops::StackUse::kLineIntegrals);
  ASSERT_TRUE(stack->Upload(0, rows.view()).ok());
  ASSERT_TRUE((*operation)->Run(0, *stack, *stack).ok());
  EXPECT_EQ(Downloaded(*stack).values, apart.values);
}

INSTANTIATE_TEST_SUITE_P(Methods, FanBeamFilterTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().fan_beam_filter)),
                         [](const auto& info) { return MethodName(info.param); });

class FanBeamBackprojectTest : public testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    const auto session = OpenSession(GetParam().backend);
    const auto operation =
        (*AllMethods().fan_beam_backproject.Find(GetParam().backend, GetParam().name))(*session);
    // One form of OpenGL ES needs an extension that not every device has.
    if (absl::IsUnavailable(operation.status())) GTEST_SKIP() << operation.status();
  }

  Array Run(const std::string& backend, const std::string& method, const FanBeamGeometry& geometry,
            const VolumeGrid& grid, const Array& rows, int first_view = 0, int threads = 2) {
    const auto session = OpenSession(backend, threads);
    const auto operation = (*AllMethods().fan_beam_backproject.Find(backend, method))(*session);
    EXPECT_TRUE(operation.ok()) << operation.status();
    const auto stack = NewStack(*session, rows.shape, ops::StackUse::kLineIntegrals);
    const auto volume = NewVolume(*session, grid);
    EXPECT_TRUE(stack->Upload(0, rows.view()).ok());
    const absl::Status status = (*operation)->Run(geometry, first_view, *stack, *volume);
    EXPECT_TRUE(status.ok()) << status;
    return Downloaded(*volume);
  }
  void ExpectAgreement(const FanBeamCase& tested, int slices, int first_view = 0,
                       int view_count = 0) {
    VolumeGrid grid = tested.grid;
    grid.nz = slices;
    const int views = view_count == 0 ? tested.geometry.views : view_count;
    const Array rows = Noise({views, slices, tested.geometry.channels}, 31);
    const Array expected = Run("reference", "", tested.geometry, grid, rows, first_view);
    const Array got =
        Run(GetParam().backend, GetParam().name, tested.geometry, grid, rows, first_view);
    const Difference difference = Compare(got, expected);
    // A pixel that is a hundredth of the way to the source away from it counts 1e4 times as much
    // as one at the axis, and a rounding of its angle as much more.
    const double near = tested.near_source ? 20 : 1;
    const Bounds bounds = BoundsOf(GetParam());
    EXPECT_LT(difference.rms, near * bounds.rms) << tested.name << " " << slices;
    EXPECT_LT(difference.largest, near * bounds.largest) << tested.name << " " << slices;
  }
  struct Bounds {
    double rms, largest;
  };
  static Bounds BoundsOf(const Method& method) {
    // Rows resampled to n elements for a channel cut the corners of what is linear between channels
    // of white noise: one cell of n has a corner, which is cut by d/n · t(1 - t) at most, d the
    // change of slope of √6, t where in the cell it is. That is 0.32 n^-1.5 of the whole, and more
    // where every cell has a corner: 0.43 was seen for n = 1, 0.04 for 4.
    int elements = 0;
    if (std::sscanf(method.name.c_str(), "tangent_rows_%d", &elements) == 1) {
      // The largest: changes of slope of four times the usual one, cut by a quarter of it over n.
      return {0.5 * std::pow(elements, -1.5), 2.5 / elements};
    }
    if (method.precision == ops::Precision::kFast) return {kFastRms, kFastLargest};
    return {kRms, kLargest};
  }
  // Positions are float32, of a few hundred channels: 3e-5 channels, times differences of white
  // noise between channels.
  static constexpr double kRms = 3e-5, kLargest = 1e-3;
  // Interpolation rounded to 1/256 of the difference.
  static constexpr double kFastRms = 6e-3, kFastLargest = 3e-2;
};

TEST_P(FanBeamBackprojectTest, AgreesWithReference) {
  for (const FanBeamCase& tested : FanBeamCases()) ExpectAgreement(tested, 1);
}

TEST_P(FanBeamBackprojectTest, AgreesWithReferenceForSeveralSlices) {
  for (const FanBeamCase& tested : FanBeamCases()) {
    if (tested.name != "arc" && tested.name != "flat_short") continue;
    for (const int slices : {2, 4, 7, 33}) ExpectAgreement(tested, slices);
  }
}

TEST_P(FanBeamBackprojectTest, TakesPartsOfAScan) {
  for (const FanBeamCase& tested : FanBeamCases()) {
    if (tested.name != "arc" && tested.name != "flat") continue;
    ExpectAgreement(tested, 2, 0, 8);
    ExpectAgreement(tested, 2, 13, 1);
    ExpectAgreement(tested, 1, tested.geometry.views - 7, 7);
  }
}

TEST_P(FanBeamBackprojectTest, AddsToTheVolumeIndependentlyOfThreads) {
  const FanBeamCase tested = FanBeamCases().front();
  const Array rows = Slices(tested.geometry, 1, 32);
  const Array once = Run(GetParam().backend, GetParam().name, tested.geometry, tested.grid, rows);
  if (GetParam().order == ops::Order::kFixed) {
    for (const int threads : {1, 3}) {
      EXPECT_EQ(
          Run(GetParam().backend, GetParam().name, tested.geometry, tested.grid, rows, 0, threads)
              .values,
          once.values);
    }
  }
  const auto session = OpenSession(GetParam().backend);
  const auto operation =
      (*AllMethods().fan_beam_backproject.Find(GetParam().backend, GetParam().name))(*session);
  const auto stack = NewStack(*session, rows.shape, ops::StackUse::kLineIntegrals);
  const auto volume = NewVolume(*session, tested.grid);
  ASSERT_TRUE(stack->Upload(0, rows.view()).ok());
  ASSERT_TRUE((*operation)->Run(tested.geometry, 0, *stack, *volume).ok());
  ASSERT_TRUE((*operation)->Run(tested.geometry, 0, *stack, *volume).ok());
  Array twice = once;
  for (float& value : twice.values) value *= 2;
  EXPECT_LT(Compare(Downloaded(*volume), twice).rms, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Methods, FanBeamBackprojectTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().fan_beam_backproject)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
