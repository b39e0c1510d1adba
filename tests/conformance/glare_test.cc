#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/correction.h"
#include "tests/conformance/transmissions.h"

namespace isocenter::conformance {
namespace {

// Less than a block, one block, rows and columns that are no whole blocks, more blocks in a row
// than any kernel takes at once.
const std::vector<Shape3> kShapes = {{1, 5, 9},    {1, 16, 16},  {3, 37, 53},
                                     {2, 96, 128}, {2, 129, 30}, {1, 21, 1100}};

ops::Calibration Glare(Shape3 shape, std::vector<ops::SpreadTerm> terms) {
  ops::Calibration calibration;
  calibration.detector = DetectorOf(shape);
  calibration.glare = std::move(terms);
  return calibration;
}

Array Corrected(const Method& method, const ops::Calibration& calibration, const Array& frames,
                int threads = 2) {
  const auto session = OpenSession(method.backend, threads);
  const auto stack = NewStack(*session, frames.shape, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(stack->Upload(0, frames.view()).ok());
  const absl::Status status = Made(AllMethods().corrections.glare, method, *session, calibration)
                                  ->Run(frames.shape.slow, *stack);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*stack);
}

class GlareTest : public testing::TestWithParam<Method> {};

TEST(GlareMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().corrections.glare).empty());
}

// The second calibration has a term that is left out: blocks are 4.96 mm x 7.52 mm. The third has
// so much glare that each of the steps counts, in frames that are bright enough for it.
TEST_P(GlareTest, AgreesWithReference) {
  for (const Shape3 shape : kShapes) {
    for (const std::vector<ops::SpreadTerm>& terms :
         {std::vector<ops::SpreadTerm>{{0.12, 8}},
          {{0.05, 5}, {0.2, 4}, {0.06, 11}, {0.04, 25}, {0.02, 900}},
          {{0.3, 12}}}) {
      const Array frames = Transmissions(shape, terms[0].share < 0.3 ? 0.05 : 0.4, 3);
      const ops::Calibration calibration = Glare(shape, terms);
      const Array expected = Corrected(kReference, calibration, frames);
      EXPECT_LT(LargestLineDifference(Corrected(GetParam(), calibration, frames), expected),
                kLineTolerance)
          << shape.middle << " x " << shape.fast;
      // It does something.
      EXPECT_GT(LargestLineDifference(frames, expected), 0.01);
    }
  }
}

TEST_P(GlareTest, WithoutTermsNothingChanges) {
  const Shape3 shape{2, 37, 53};
  const Array frames = Transmissions(shape, 0.05, 4);
  for (const std::vector<ops::SpreadTerm>& terms :
       {std::vector<ops::SpreadTerm>{}, {{0.2, 4}}, {{0, 20}}}) {
    EXPECT_EQ(Corrected(GetParam(), Glare(shape, terms), frames).values, frames.values);
  }
}

// How frames are divided between calls and threads makes no difference, and those behind the last
// one that is asked for stay.
TEST_P(GlareTest, ChunksAndThreadsMakeNoDifference) {
  const Shape3 shape{7, 70, 85};
  const Array frames = Transmissions(shape, 0.03, 5);
  const ops::Calibration calibration = Glare(shape, {{0.1, 9}, {0.05, 30}});
  const Array at_once = Corrected(GetParam(), calibration, frames);
  for (const int threads : {1, 3}) {
    EXPECT_EQ(Corrected(GetParam(), calibration, frames, threads).values, at_once.values)
        << threads;
  }
  const auto session = OpenSession(GetParam().backend);
  const auto operation = Made(AllMethods().corrections.glare, GetParam(), *session, calibration);
  const auto stack = NewStack(*session, {4, 70, 85}, ops::StackUse::kLineIntegrals);
  Array chunk({4, 70, 85});
  for (const auto& [first, views] : {std::pair<int64_t, int64_t>{0, 3}, {3, 1}, {3, 4}}) {
    std::copy_n(frames.view().row(first, 0), chunk.values.size(), chunk.values.data());
    ASSERT_TRUE(stack->Upload(0, chunk.view()).ok());
    ASSERT_TRUE(operation->Run(views, *stack).ok());
    const Array got = Downloaded(*stack);
    const int64_t corrected = views * 70 * 85;
    EXPECT_TRUE(std::equal(got.values.begin(), got.values.begin() + corrected,
                           at_once.view().row(first, 0)));
    EXPECT_TRUE(std::equal(got.values.begin() + corrected, got.values.end(),
                           frames.view().row(first + views, 0)));
  }
}

TEST_P(GlareTest, RefusesWhatItWasNotMadeFor) {
  const Shape3 shape{2, 20, 33};
  const auto session = OpenSession(GetParam().backend);
  const auto other = OpenSession("reference");
  const auto operation =
      Made(AllMethods().corrections.glare, GetParam(), *session, Glare(shape, {{0.1, 9}}));
  const auto right = NewStack(*session, shape, ops::StackUse::kLineIntegrals);
  const auto filtered = NewStack(*session, shape, ops::StackUse::kProjections);
  const auto narrow = NewStack(*session, {2, 20, 32}, ops::StackUse::kLineIntegrals);
  const auto low = NewStack(*session, {2, 19, 33}, ops::StackUse::kLineIntegrals);
  const auto foreign = NewStack(*other, shape, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(operation->Run(0, *right).ok());
  EXPECT_TRUE(operation->Run(2, *right).ok());
  for (const absl::Status& status :
       {operation->Run(3, *right), operation->Run(-1, *right), operation->Run(2, *filtered),
        operation->Run(2, *narrow), operation->Run(2, *low), operation->Run(2, *foreign)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, GlareTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().corrections.glare)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
