#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/correction.h"
#include "tests/conformance/transmissions.h"

namespace isocenter::conformance {
namespace {

constexpr float kFullScale = 60000;

ops::Calibration Detecting(const Detector& detector, uint32_t seed) {
  std::mt19937 random(seed);
  ops::Calibration calibration{.name = "bounded", .detector = detector};
  ops::PixelResponse& response = calibration.response.emplace();
  for (int i = 0; i < detector.rows * detector.columns; ++i) {
    response.offset_counts.push_back(static_cast<float>(Uniform(random, 500, 1500)));
    response.air_counts.push_back(static_cast<float>(Uniform(random, 38000, 42000)));
    if (i % 23 == 5) calibration.defects.pixels.push_back(i);
  }
  response.full_scale_counts = kFullScale;
  return calibration;
}

// What a round body and a plate beside it let through of a dose.
double Through(int u, double columns, double dose) {
  const double radius = 0.32 * columns, from_axis = u - 0.42 * columns;
  const double chord = std::sqrt(std::max(0.0, radius * radius - from_axis * from_axis));
  const double plate = u > 0.8 * columns && u < 0.86 * columns ? 0.3 : 0;
  return dose * std::exp(-3 * chord / radius - plate);
}

// As the detector reads it, back to what it normalizes to; defects read nothing or all.
float Read(const ops::Calibration& calibration, size_t pixel, double through) {
  const ops::PixelResponse& response = *calibration.response;
  double counts = std::round(response.offset_counts[pixel] + through * response.air_counts[pixel]);
  if (pixel % 23 == 5) counts = pixel % 2 == 0 ? 0 : 65535;
  counts = std::min<double>(counts, kFullScale);
  return static_cast<float>((counts - response.offset_counts[pixel]) / response.air_counts[pixel]);
}

Array Frames(Shape3 shape, const ops::Calibration& calibration, const std::vector<float>& doses) {
  Array frames(shape);
  const int64_t pixels = shape.middle * shape.fast;
  for (size_t i = 0; i < frames.values.size(); ++i) {
    const int64_t view = static_cast<int64_t>(i) / pixels, pixel = static_cast<int64_t>(i) % pixels;
    frames.values[i] = Read(calibration, pixel,
                            Through(static_cast<int>(pixel % shape.fast),
                                    static_cast<double>(shape.fast), doses[view]));
  }
  return frames;
}

Array Recovered(const Method& method, const ops::Calibration& calibration, const Array& frames,
                const std::vector<float>& doses, int threads = 2) {
  const auto session = OpenSession(method.backend, threads);
  const auto stack = NewStack(*session, frames.shape, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(stack->Upload(0, frames.view()).ok());
  const absl::Status status =
      Made(AllMethods().corrections.overexposed, method, *session, calibration)->Run(doses, *stack);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*stack);
}

class OverexposedTest : public testing::TestWithParam<Method> {};

// The same sums in float64 from values that are float32: what is left is the rounding of results,
// and where p² comes near 0 its root.
TEST_P(OverexposedTest, AgreesWithReference) {
  const std::vector<float> doses = {1, 1.7f, 4};
  for (const Shape3 shape :
       {Shape3{3, 1, 1}, Shape3{3, 5, 9}, Shape3{3, 6, 131}, Shape3{3, 3, 600}}) {
    SCOPED_TRACE(testing::Message() << shape.middle << " x " << shape.fast);
    const ops::Calibration calibration = Detecting(DetectorOf(shape), 3);
    const Array frames = Frames(shape, calibration, doses);
    const Array got = Recovered(GetParam(), calibration, frames, doses);
    const Array expected = Recovered(kReference, calibration, frames, doses);
    for (size_t i = 0; i < got.values.size(); ++i) {
      ASSERT_NEAR(got.values[i], expected.values[i], 1e-6) << i;
    }
    if (shape.fast > 9) {
      EXPECT_NE(expected.values, frames.values);
    }
  }
}

// Noise that no body has, and pixels far below and above what a detector reads.
TEST_P(OverexposedTest, AgreesWithReferenceOnNoise) {
  const Shape3 shape{2, 7, 300};
  const ops::Calibration calibration = Detecting(DetectorOf(shape), 4);
  std::mt19937 random(5);
  Array frames(shape);
  for (float& value : frames.values) {
    value = static_cast<float>(2 * std::exp(-Uniform(random, -0.2, 1.2)));
  }
  frames.values[40] = 0;
  frames.values[41] = -3;
  frames.values[44] = 100;
  const std::vector<float> doses = {2.5f, 1.2f};
  EXPECT_LT(Compare(Recovered(GetParam(), calibration, frames, doses),
                    Recovered(kReference, calibration, frames, doses))
                .largest,
            1e-6);
}

// Behind four times the dose, of which the detector reads 1.5, nearly all of the skin is found.
TEST_P(OverexposedTest, FindsTheSkinAndTheAir) {
  const Shape3 shape{1, 4, 600};
  const ops::Calibration calibration = Detecting(DetectorOf(shape), 6);
  const Array got = Recovered(GetParam(), calibration, Frames(shape, calibration, {4}), {4});
  for (int v = 0; v < 4; ++v) {
    for (int u = 0; u < 600; ++u) {
      const size_t pixel = v * 600 + u;
      if (pixel % 23 == 5) continue;
      // The plate is all overexposed: nothing is known of it, as of air.
      const double expected = u > 480 && u < 516 ? 4 : Through(u, 600, 4);
      // At the skin the root of what a line misses of a circle's squares: 0.16 of 0.96 that are
      // hidden; elsewhere half a count.
      const bool skin = std::abs(std::abs(u - 252) - 192) < 24;
      ASSERT_NEAR(std::log(got.values[pixel] / expected), 0, skin ? 0.4 : 2e-3) << u << " " << v;
    }
  }
}

TEST_P(OverexposedTest, LeavesWhatItDoesNotKnow) {
  const Shape3 shape{2, 4, 200};
  ops::Calibration calibration = Detecting(DetectorOf(shape), 7);
  const Array frames = Frames(shape, calibration, {4, 0.9f});
  // Not told; and below the full scale.
  EXPECT_EQ(Recovered(GetParam(), calibration, frames, {0, 0.9f}).values, frames.values);
  calibration.response->full_scale_counts = 0;
  EXPECT_EQ(Recovered(GetParam(), calibration, frames, {4, 0.9f}).values, frames.values);
}

TEST_P(OverexposedTest, ThreadsMakeNoDifferenceAndNothingFallsBelowWhatWasRead) {
  const Shape3 shape{2, 9, 300};
  const ops::Calibration calibration = Detecting(DetectorOf(shape), 8);
  const std::vector<float> doses = {3, 2};
  const Array frames = Frames(shape, calibration, doses);
  const Array got = Recovered(GetParam(), calibration, frames, doses);
  EXPECT_EQ(Recovered(GetParam(), calibration, frames, doses, 3).values, got.values);
  for (size_t i = 0; i < got.values.size(); ++i) EXPECT_GE(got.values[i], frames.values[i]) << i;
}

TEST_P(OverexposedTest, RefusesDosesThatAreNone) {
  const Shape3 shape{1, 6, 8};
  const auto session = OpenSession(GetParam().backend);
  const auto operation = Made(AllMethods().corrections.overexposed, GetParam(), *session,
                              Detecting(DetectorOf(shape), 9));
  const auto stack = NewStack(*session, shape, ops::StackUse::kLineIntegrals);
  for (const float dose : {-1.f, 1e4f, std::numeric_limits<float>::quiet_NaN()}) {
    const std::vector<float> doses = {dose};
    EXPECT_EQ(operation->Run(doses, *stack).code(), absl::StatusCode::kInvalidArgument) << dose;
  }
  const std::vector<float> two = {1, 1};
  EXPECT_EQ(operation->Run(two, *stack).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Methods, OverexposedTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().corrections.overexposed)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
