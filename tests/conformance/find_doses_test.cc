#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/correction.h"
#include "tests/conformance/transmissions.h"

namespace isocenter::conformance {
namespace {

ops::Calibration Air(Shape3 shape, int columns) {
  ops::Calibration calibration;
  calibration.detector = DetectorOf(shape);
  calibration.air.columns = columns;
  return calibration;
}

std::vector<float> Found(const Method& method, const ops::Calibration& calibration,
                         const std::vector<float>& given, const Array& frames, int threads = 2) {
  const auto session = OpenSession(method.backend, threads);
  const auto stack = NewStack(*session, frames.shape, ops::StackUse::kLineIntegrals);
  const auto doses = NewStack(*session, {frames.shape.slow, 1, 1}, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(stack->Upload(0, frames.view()).ok());
  const absl::Status status = Made(AllMethods().corrections.doses, method, *session, calibration)
                                  ->Run(given, *stack, *doses);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*doses).values;
}

// An object that hides the lower half of the right strip in the second view and both strips
// in the third, in beams of different doses, the fourth and fifth beyond what is believed.
Array Frames(Shape3 shape) {
  Array frames = Noise(shape, 9);
  constexpr double kDoses[] = {0.9, 1.15, 1.3, 2.1, 0.4, 1.9};
  for (int64_t view = 0; view < shape.slow; ++view) {
    for (int64_t v = 0; v < shape.middle; ++v) {
      for (int64_t u = 0; u < shape.fast; ++u) {
        const bool hidden = (view == 1 && v >= shape.middle / 2 && u >= shape.fast / 2) ||
                            view == 2 || std::abs(2 * u - shape.fast) < 20;
        float& pixel = frames.values[(view * shape.middle + v) * shape.fast + u];
        pixel = static_cast<float>(kDoses[view % 6] * (hidden ? 0.3 : 1) * (1 + 0.02 * pixel));
      }
    }
  }
  return frames;
}

// Tiles are means of 256 pixels, each held to 6e-8.
void ExpectNear(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i] / expected[i], 1, 5e-7) << i;
}

class FindDosesTest : public testing::TestWithParam<Method> {};

TEST(FindDosesMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().corrections.doses).empty());
}

TEST_P(FindDosesTest, AgreesWithReference) {
  const std::vector<float> estimate_all(6, 0.f), some_given = {0, 3.5f, 0, 1e-3f, 1e3f, 0};
  for (const Shape3 shape : {Shape3{6, 16, 32}, Shape3{6, 37, 53}, Shape3{6, 129, 131}}) {
    const Array frames = Frames(shape);
    for (const int strip : {0, 16, 17, static_cast<int>(shape.fast / 2)}) {
      const ops::Calibration calibration = Air(shape, strip);
      for (const std::vector<float>& given : {estimate_all, some_given}) {
        SCOPED_TRACE(testing::Message() << shape.middle << " x " << shape.fast << ", " << strip);
        ExpectNear(Found(GetParam(), calibration, given, frames),
                   Found(kReference, calibration, given, frames));
      }
    }
  }
}

// Noise of 2 % of its width is 0.0012 of a mean over 256 pixels or less.
TEST_P(FindDosesTest, FindsWhatWasExposed) {
  const Shape3 shape{6, 129, 131};
  const std::vector<float> doses =
      Found(GetParam(), Air(shape, 48), std::vector<float>(6, 0.f), Frames(shape));
  EXPECT_NEAR(doses[0], 0.9, 0.002);
  EXPECT_NEAR(doses[1], 1.15, 0.002);
  EXPECT_EQ(doses[2], 1);  // 0.39: no air was seen
  EXPECT_EQ(doses[3], 1);  // 2.1: not believed
  EXPECT_EQ(doses[4], 1);
  EXPECT_NEAR(doses[5], 1.9, 0.004);
}

TEST_P(FindDosesTest, ThreadsMakeNoDifference) {
  const Shape3 shape{6, 129, 131};
  const ops::Calibration calibration = Air(shape, 48);
  const std::vector<float> given(6, 0.f);
  const Array frames = Frames(shape);
  const std::vector<float> doses = Found(GetParam(), calibration, given, frames);
  for (const int threads : {1, 3}) {
    EXPECT_EQ(Found(GetParam(), calibration, given, frames, threads), doses);
  }
}

// One operation, one chunk after the other, nobody waiting: each finds the doses that it was given.
TEST_P(FindDosesTest, ChunksFollowEachOther) {
  const Shape3 shape{2, 37, 53};
  const auto session = OpenSession(GetParam().backend);
  const auto operation = Made(AllMethods().corrections.doses, GetParam(), *session, Air(shape, 16));
  const auto stack = NewStack(*session, shape, ops::StackUse::kLineIntegrals);
  ASSERT_TRUE(stack->Upload(0, Frames(shape).view()).ok());
  std::vector<std::unique_ptr<ops::ProjectionStack>> doses;
  for (int chunk = 0; chunk < 9; ++chunk) {
    doses.push_back(NewStack(*session, {2, 1, 1}, ops::StackUse::kLineIntegrals));
    std::vector<float> given = {1 + 0.1f * static_cast<float>(chunk), 7.f};
    given.resize(chunk % 3 == 2 ? 1 : 2);
    ASSERT_TRUE(operation->Run(given, *stack, *doses.back()).ok());
    std::fill(given.begin(), given.end(), -1.f);
  }
  for (int chunk = 0; chunk < 9; ++chunk) {
    const std::vector<float> got = Downloaded(*doses[chunk]).values;
    EXPECT_EQ(got[0], 1 + 0.1f * static_cast<float>(chunk));
    EXPECT_EQ(got[1], chunk % 3 == 2 ? 0.f : 7.f);
  }
}

TEST_P(FindDosesTest, RefusesWhatIsIllegal) {
  const Shape3 shape{2, 37, 53};
  const auto session = OpenSession(GetParam().backend);
  const auto other = OpenSession("reference");
  const auto operation = Made(AllMethods().corrections.doses, GetParam(), *session, Air(shape, 16));
  const auto lines = ops::StackUse::kLineIntegrals;
  const auto frames = NewStack(*session, shape, lines);
  const auto doses = NewStack(*session, {2, 1, 1}, lines);
  const std::vector<float> ones = {1, 1};
  EXPECT_TRUE(operation->Run({}, *frames, *doses).ok());
  EXPECT_TRUE(operation->Run(ones, *frames, *doses).ok());
  for (const float illegal : {-1.f, 9e-4f, 1001.f, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity()}) {
    const absl::Status status = operation->Run(std::vector<float>{1, illegal}, *frames, *doses);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << illegal << ": " << status;
  }
  const auto filtered = NewStack(*session, shape, ops::StackUse::kProjections);
  const auto low = NewStack(*session, {2, 36, 53}, lines);
  const auto few = NewStack(*session, {1, 37, 53}, lines);
  const auto foreign = NewStack(*other, shape, lines);
  const auto few_doses = NewStack(*session, {1, 1, 1}, lines);
  const auto high_doses = NewStack(*session, {2, 2, 1}, lines);
  const auto foreign_doses = NewStack(*other, {2, 1, 1}, lines);
  for (const absl::Status& status :
       {operation->Run(ones, *filtered, *doses), operation->Run(ones, *low, *doses),
        operation->Run(ones, *few, *doses), operation->Run(ones, *foreign, *doses),
        operation->Run(ones, *frames, *few_doses), operation->Run(ones, *frames, *high_doses),
        operation->Run(ones, *frames, *foreign_doses)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, FindDosesTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().corrections.doses)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
