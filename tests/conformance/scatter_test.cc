#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/correction.h"
#include "tests/conformance/transmissions.h"

namespace isocenter::conformance {
namespace {

const std::vector<Shape3> kShapes = {{1, 5, 9},    {1, 16, 16},  {3, 37, 53},
                                     {2, 96, 128}, {2, 129, 30}, {1, 21, 1100}};

// Kernels of the published kind: more is scattered, and more widely, the thicker the water is.
ops::Calibration Scatter(Shape3 shape, double gamma_per_mm = 0.002) {
  ops::Calibration calibration;
  calibration.detector = DetectorOf(shape);
  calibration.scatter = ops::ScatterKernels{.groups = {{0, 0.5, 0.6, 0.7, 12, 40, 0.4},
                                                       {31.7, 0.6, 0.7, 0.75, 10, 35, 0.5},
                                                       {82.9, 0.8, 0.75, 0.8, 9, 3, 0.1},
                                                       {141.3, 1.1, 0.8, 0.85, 6, 60, 1}},
                                            .mu_water_per_mm = 0.02,
                                            .gamma_per_mm = gamma_per_mm};
  return calibration;
}

// Different for each view.
Array Doses(int64_t views) {
  Array doses({views, 1, 1});
  for (int64_t view = 0; view < views; ++view) {
    doses.values[view] = 1 + 0.13f * static_cast<float>(view % 4);
  }
  return doses;
}

// Frames of these doses.
Array Frames(Shape3 shape, uint32_t seed) {
  Array frames = Transmissions(shape, 0.02, seed);
  const Array doses = Doses(shape.slow);
  const int64_t pixels = shape.middle * shape.fast;
  for (int64_t i = 0; i < shape.count(); ++i) frames.values[i] *= doses.values[i / pixels];
  return frames;
}

Array Corrected(const Method& method, const ops::Calibration& calibration, const Array& frames,
                int threads = 2) {
  const auto session = OpenSession(method.backend, threads);
  const auto stack = NewStack(*session, frames.shape, ops::StackUse::kLineIntegrals);
  const Array dose = Doses(frames.shape.slow);
  const auto doses = NewStack(*session, dose.shape, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(stack->Upload(0, frames.view()).ok());
  EXPECT_TRUE(doses->Upload(0, dose.view()).ok());
  const absl::Status status = Made(AllMethods().corrections.scatter, method, *session, calibration)
                                  ->Run(frames.shape.slow, *doses, *stack);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*stack);
}

class ScatterTest : public testing::TestWithParam<Method> {};

TEST(ScatterMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().corrections.scatter).empty());
}

TEST_P(ScatterTest, AgreesWithReference) {
  for (const Shape3 shape : kShapes) {
    const Array frames = Frames(shape, 6);
    for (const double gamma : {0.0, 0.002, 0.009}) {
      const ops::Calibration calibration = Scatter(shape, gamma);
      const Array expected = Corrected(kReference, calibration, frames);
      EXPECT_LT(LargestLineDifference(Corrected(GetParam(), calibration, frames), expected),
                kLineTolerance)
          << shape.middle << " x " << shape.fast << ", gamma " << gamma;
      // It does something.
      EXPECT_GT(LargestLineDifference(frames, expected), 0.02);
    }
  }
}

// Where everything would be taken for scatter, a share stays; beams that nothing is in stay.
TEST_P(ScatterTest, KeepsAShareOfWhatArrived) {
  const Shape3 shape{2, 37, 53};
  ops::Calibration calibration = Scatter(shape);
  for (ops::ScatterKernels::Group& group : calibration.scatter->groups) group.amplitude = 10;
  const Array frames = Frames(shape, 7);
  const Array got = Corrected(GetParam(), calibration, frames);
  EXPECT_LT(LargestLineDifference(got, Corrected(kReference, calibration, frames)), kLineTolerance);
  const auto least = [](float x) { return static_cast<float>(ops::kLeastPrimary) * x; };
  int64_t held = 0;
  for (size_t i = 0; i < got.values.size(); ++i) {
    ASSERT_GE(got.values[i], 0.9999f * least(frames.values[i]));
    held += got.values[i] < 1.0001f * least(frames.values[i]) ? 1 : 0;
  }
  EXPECT_GT(held, 100);
  Array empty(shape);
  std::fill(empty.values.begin(), empty.values.end(), 1.2f);  // of doses 1 and 1.13
  EXPECT_EQ(Corrected(GetParam(), Scatter(shape), empty).values, empty.values);
}

TEST_P(ScatterTest, ChunksAndThreadsMakeNoDifference) {
  const Shape3 shape{7, 70, 85};
  const Array frames = Frames(shape, 8);
  const ops::Calibration calibration = Scatter(shape);
  const Array at_once = Corrected(GetParam(), calibration, frames);
  for (const int threads : {1, 3}) {
    EXPECT_EQ(Corrected(GetParam(), calibration, frames, threads).values, at_once.values)
        << threads;
  }
  const auto session = OpenSession(GetParam().backend);
  const auto operation = Made(AllMethods().corrections.scatter, GetParam(), *session, calibration);
  const auto stack = NewStack(*session, {4, 70, 85}, ops::StackUse::kLineIntegrals);
  const auto doses = NewStack(*session, {4, 1, 1}, ops::StackUse::kLineIntegrals);
  const Array dose = Doses(7);
  Array chunk({4, 70, 85}), chunk_doses({4, 1, 1});
  for (const auto& [first, views] : {std::pair<int64_t, int64_t>{0, 3}, {3, 1}, {3, 4}}) {
    std::copy_n(frames.view().row(first, 0), chunk.values.size(), chunk.values.data());
    std::copy_n(dose.view().row(first, 0), 4, chunk_doses.values.data());
    ASSERT_TRUE(stack->Upload(0, chunk.view()).ok());
    ASSERT_TRUE(doses->Upload(0, chunk_doses.view()).ok());
    ASSERT_TRUE(operation->Run(views, *doses, *stack).ok());
    const Array got = Downloaded(*stack);
    const int64_t corrected = views * 70 * 85;
    EXPECT_TRUE(std::equal(got.values.begin(), got.values.begin() + corrected,
                           at_once.view().row(first, 0)));
    EXPECT_TRUE(std::equal(got.values.begin() + corrected, got.values.end(),
                           frames.view().row(first + views, 0)));
  }
}

TEST_P(ScatterTest, RefusesWhatItWasNotMadeFor) {
  const Shape3 shape{2, 20, 33};
  const auto session = OpenSession(GetParam().backend);
  const auto other = OpenSession("reference");
  const auto operation =
      Made(AllMethods().corrections.scatter, GetParam(), *session, Scatter(shape));
  const auto lines = ops::StackUse::kLineIntegrals;
  const auto right = NewStack(*session, shape, lines);
  const auto doses = NewStack(*session, {2, 1, 1}, lines);
  ASSERT_TRUE(doses->Upload(0, Doses(2).view()).ok());
  const auto filtered = NewStack(*session, shape, ops::StackUse::kProjections);
  const auto narrow = NewStack(*session, {2, 20, 32}, lines);
  const auto foreign = NewStack(*other, shape, lines);
  const auto few_doses = NewStack(*session, {1, 1, 1}, lines);
  const auto wide_doses = NewStack(*session, {2, 1, 2}, lines);
  const auto filtered_doses = NewStack(*session, {2, 1, 1}, ops::StackUse::kProjections);
  const auto foreign_doses = NewStack(*other, {2, 1, 1}, lines);
  EXPECT_TRUE(operation->Run(0, *doses, *right).ok());
  EXPECT_TRUE(operation->Run(2, *doses, *right).ok());
  for (const absl::Status& status :
       {operation->Run(3, *doses, *right), operation->Run(-1, *doses, *right),
        operation->Run(2, *doses, *filtered), operation->Run(2, *doses, *narrow),
        operation->Run(2, *doses, *foreign), operation->Run(2, *few_doses, *right),
        operation->Run(2, *wide_doses, *right), operation->Run(2, *filtered_doses, *right),
        operation->Run(2, *foreign_doses, *right)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  ops::Calibration without = Scatter(shape);
  without.scatter.reset();
  const auto factory = AllMethods().corrections.scatter.Find(GetParam().backend, GetParam().name);
  EXPECT_EQ((*factory)(*session, without).status().code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Methods, ScatterTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().corrections.scatter)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
