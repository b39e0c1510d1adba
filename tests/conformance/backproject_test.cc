#include <gtest/gtest.h>

#include "tests/conformance/conformance.h"
#include "tests/conformance/geometries.h"

namespace isocenter::conformance {
namespace {

class BackprojectTest : public testing::TestWithParam<Method> {
 protected:
  Array Run(const std::string& backend, const std::string& method, const BackprojectCase& geometry,
            const Array& projections, const Array* start = nullptr, int threads = 2) {
    const auto session = OpenSession(backend, threads);
    const auto factory = AllMethods().backproject.Find(backend, method);
    EXPECT_TRUE(factory.ok()) << factory.status();
    const auto operation = (*factory)(*session);
    EXPECT_TRUE(operation.ok()) << operation.status();
    const auto stack = NewStack(*session, projections.shape, ops::StackUse::kProjections);
    EXPECT_TRUE(stack->Upload(0, projections.view()).ok());
    const auto volume = NewVolume(*session, geometry.grid);
    if (start != nullptr) {
      EXPECT_TRUE(volume->Upload(0, start->view()).ok());
    }
    const absl::Status status = (*operation)->Run(geometry.matrices, *stack, *volume);
    EXPECT_TRUE(status.ok()) << status;
    return Downloaded(*volume);
  }
  Array RunTested(const BackprojectCase& geometry, const Array& projections,
                  const Array* start = nullptr, int threads = 2) {
    return Run(GetParam().backend, GetParam().name, geometry, projections, start, threads);
  }
};

TEST(BackprojectMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().backproject).empty());
}

// White noise is the hardest input: a position that is wrong by d pixels is an error of d times a
// slope of about 1 per pixel. Fast paths may place a sample wrong by up to 0.01 pixels where
// perspective bends a short run of voxels most, and by 1e-4 pixels as a rule; smooth projections
// forgive a hundred times more.
// Linear up to `nonlinear`: sums of 7 views in float32.
struct Tolerance {
  double rms, largest, nonlinear;
};
constexpr Tolerance kExactTolerance{3e-4, 2e-2, 3e-6};
// Weights that are off by up to 1/256 along both axes: up to 4/256 of a sample of at most 1, where
// the rms of bilinear samples is about a quarter; 0.0048 and 0.057 were seen.
// Pixels may be rounded to float16, by up to 2^-12 of themselves, which adds up over 7 views.
constexpr Tolerance kFastTolerance{6e-3, 8e-2, 1e-2};

Tolerance ToleranceOf(const Method& method) {
  return method.precision == ops::Precision::kFast ? kFastTolerance : kExactTolerance;
}

TEST_P(BackprojectTest, AgreesWithReference) {
  for (const BackprojectCase& geometry : BackprojectCases()) {
    SCOPED_TRACE(geometry.name);
    const Array projections = Noise(geometry.detector, 21);
    const Difference difference =
        Compare(RunTested(geometry, projections), Run("reference", "", geometry, projections));
    EXPECT_LT(difference.rms, ToleranceOf(GetParam()).rms);
    EXPECT_LT(difference.largest, ToleranceOf(GetParam()).largest);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(BackprojectTest, AddsToTheVolume) {
  const BackprojectCase geometry = BackprojectCases().front();
  const Array projections = Noise(geometry.detector, 22);
  const Array start = Noise(geometry.grid.shape(), 23);
  EXPECT_LT(Compare(RunTested(geometry, projections, &start),
                    Run("reference", "", geometry, projections, &start))
                .rms,
            ToleranceOf(GetParam()).rms);
}

TEST_P(BackprojectTest, IsLinear) {
  const BackprojectCase geometry = BackprojectCases().front();
  const Array a = Noise(geometry.detector, 24), b = Noise(geometry.detector, 25);
  Array sum(geometry.detector);
  for (size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] = 2 * a.values[i] - b.values[i] / 2;
  }
  const Array of_sum = RunTested(geometry, sum);
  const Array of_a = RunTested(geometry, a), of_b = RunTested(geometry, b);
  Array expected(geometry.grid.shape());
  for (size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] = 2 * of_a.values[i] - of_b.values[i] / 2;
  }
  EXPECT_LT(Compare(of_sum, expected).largest, ToleranceOf(GetParam()).nonlinear);
}

// The same bits for any number of threads, and however the views are divided between calls.
TEST_P(BackprojectTest, IsReproducible) {
  for (const BackprojectCase& geometry : BackprojectCases()) {
    SCOPED_TRACE(geometry.name);
    const Array projections = Noise(geometry.detector, 26);
    const Array one = RunTested(geometry, projections, nullptr, 1);
    EXPECT_EQ(RunTested(geometry, projections, nullptr, 2).values, one.values);
    EXPECT_EQ(RunTested(geometry, projections, nullptr, 3).values, one.values);

    const auto session = OpenSession(GetParam().backend);
    const auto operation =
        (*AllMethods().backproject.Find(GetParam().backend, GetParam().name))(*session);
    const auto volume = NewVolume(*session, geometry.grid);
    for (int64_t view = 0; view < geometry.detector.slow; ++view) {
      const auto stack = NewStack(*session, {1, geometry.detector.middle, geometry.detector.fast},
                                  ops::StackUse::kProjections);
      ASSERT_TRUE(stack->Upload(0, projections.view().slices(view, 1)).ok());
      ASSERT_TRUE(
          (*operation)->Run(std::span(geometry.matrices).subspan(view, 1), *stack, *volume).ok());
    }
    EXPECT_EQ(Downloaded(*volume).values, one.values);
  }
}

TEST_P(BackprojectTest, GridThatNoViewSeesStaysAsItWas) {
  BackprojectCase geometry = BackprojectCases().front();
  geometry.grid.origin = geometry.grid.origin + Vec3{0, 0, 400};
  const Array start = Noise(geometry.grid.shape(), 27);
  EXPECT_EQ(RunTested(geometry, Noise(geometry.detector, 28), &start).values, start.values);
}

TEST_P(BackprojectTest, RefusesWrongArguments) {
  const auto session = OpenSession(GetParam().backend);
  const auto operation =
      (*AllMethods().backproject.Find(GetParam().backend, GetParam().name))(*session);
  const BackprojectCase geometry = BackprojectCases().front();
  const Shape3 few{3, geometry.detector.middle, geometry.detector.fast};
  const auto volume = NewVolume(*session, geometry.grid);
  const auto small = NewStack(*session, few, ops::StackUse::kProjections);
  const auto other_use = NewStack(*session, geometry.detector, ops::StackUse::kLineIntegrals);
  const auto reference = OpenSession("reference");
  const auto foreign_stack = NewStack(*reference, geometry.detector, ops::StackUse::kProjections);
  const auto stack = NewStack(*session, geometry.detector, ops::StackUse::kProjections);
  const auto foreign_volume = NewVolume(*reference, geometry.grid);
  for (const absl::Status& status :
       {(*operation)->Run(geometry.matrices, *small, *volume),
        (*operation)->Run(geometry.matrices, *other_use, *volume),
        (*operation)->Run(geometry.matrices, *foreign_stack, *volume),
        (*operation)->Run(geometry.matrices, *stack, *foreign_volume)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, BackprojectTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().backproject)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
