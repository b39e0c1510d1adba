#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/correction.h"
#include "tests/conformance/transmissions.h"

namespace isocenter::conformance {
namespace {

ops::Calibration Sweep(const Detector& detector, int angles, uint32_t seed) {
  std::mt19937 random(seed);
  ops::Calibration calibration{.name = "swept", .detector = detector};
  const int blocks = ops::AirSweep::Blocks(detector.columns) * ops::AirSweep::Blocks(detector.rows);
  for (int i = 0; i < angles; ++i) {
    calibration.air_sweep.angles.push_back(0.1 * i - 0.4);
    for (int b = 0; b < blocks; ++b) {
      calibration.air_sweep.relative.push_back(static_cast<float>(Uniform(random, 0.7, 1.3)));
    }
  }
  EXPECT_TRUE(ops::CheckAirSweep(calibration.air_sweep, detector).ok());
  return calibration;
}

Array Divided(const Method& method, const ops::Calibration& calibration, const Array& frames,
              const std::vector<float>& places, int threads = 2) {
  const auto session = OpenSession(method.backend, threads);
  const auto stack = NewStack(*session, frames.shape, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(stack->Upload(0, frames.view()).ok());
  const absl::Status status =
      Made(AllMethods().corrections.air_sweep, method, *session, calibration)->Run(places, *stack);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*stack);
}

Array Ones(Shape3 shape) {
  Array frames(shape);
  for (float& value : frames.values) value = 1;
  return frames;
}

class AirSweepTest : public testing::TestWithParam<Method> {};

// The sweep's values and three interpolations are held to 6e-8 each.
TEST_P(AirSweepTest, AgreesWithReference) {
  for (const Shape3 shape : {Shape3{3, 1, 1}, Shape3{3, 16, 17}, Shape3{3, 37, 53},
                             Shape3{3, 8, 40}, Shape3{3, 50, 7}, Shape3{3, 129, 131}}) {
    SCOPED_TRACE(testing::Message() << shape.middle << " x " << shape.fast);
    const ops::Calibration calibration = Sweep(DetectorOf(shape), 5, 3);
    Array frames = Noise(shape, 4);
    const std::vector<float> places = {0, 2.3f, 4};
    EXPECT_LT(Compare(Divided(GetParam(), calibration, frames, places),
                      Divided(kReference, calibration, frames, places))
                  .largest,
              1e-6);
  }
}

// What is a plane over blocks and angles is one over pixels, but for the border's half blocks.
TEST_P(AirSweepTest, PlanesStayPlanes) {
  const Shape3 shape{2, 48, 64};
  ops::Calibration calibration = Sweep(DetectorOf(shape), 3, 5);
  for (int i = 0; i < 3 * 3 * 4; ++i) {
    calibration.air_sweep.relative[i] =
        static_cast<float>(0.8 + 0.1 * (i / 12) + 0.05 * (i / 4 % 3) + 0.03 * (i % 4));
  }
  const Array got = Divided(GetParam(), calibration, Ones(shape), {1, 1.5f});
  for (int i = 0; i < 2 * 48 * 64; ++i) {
    const int view = i / (48 * 64), v = i / 64 % 48, u = i % 64;
    const double row = std::clamp((v + 0.5) / 16 - 0.5, 0.0, 2.0);
    const double column = std::clamp((u + 0.5) / 16 - 0.5, 0.0, 3.0);
    ASSERT_NEAR(1 / got.values[i], 0.8 + 0.1 * (view == 0 ? 1 : 1.5) + 0.05 * row + 0.03 * column,
                1e-6)
        << i;
  }
}

TEST_P(AirSweepTest, ThreadsAndChunksMakeNoDifference) {
  const Shape3 shape{4, 37, 53};
  const ops::Calibration calibration = Sweep(DetectorOf(shape), 5, 6);
  const Array frames = Noise(shape, 7);
  const std::vector<float> places = {0, 1.25f, 2.5f, 3.75f};
  const Array once = Divided(GetParam(), calibration, frames, places);
  EXPECT_EQ(Divided(GetParam(), calibration, frames, places, 3).values, once.values);
  Array last({1, 37, 53});
  std::copy_n(frames.view().row(3, 0), last.values.size(), last.values.begin());
  const Array alone = Divided(GetParam(), calibration, last, {3.75f});
  EXPECT_TRUE(std::equal(alone.values.begin(), alone.values.end(), once.view().row(3, 0)));
}

TEST_P(AirSweepTest, RefusesPlacesBeyondTheSweep) {
  const Shape3 shape{1, 6, 8};
  const auto session = OpenSession(GetParam().backend);
  const auto operation = Made(AllMethods().corrections.air_sweep, GetParam(), *session,
                              Sweep(DetectorOf(shape), 5, 8));
  const auto stack = NewStack(*session, shape, ops::StackUse::kLineIntegrals);
  for (const float place : {-0.1f, 4.1f, std::nanf("")}) {
    const std::vector<float> places = {place};
    const absl::Status status = operation->Run(places, *stack);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("legal is 0 to 4"), std::string::npos) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, AirSweepTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().corrections.air_sweep)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
