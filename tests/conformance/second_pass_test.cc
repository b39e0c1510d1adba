#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/correction.h"
#include "tests/conformance/transmissions.h"

namespace isocenter::conformance {
namespace {

constexpr auto kLines = ops::StackUse::kLineIntegrals;
Array LineIntegrals(Shape3 shape) {
  Array lines = Transmissions(shape, 1e-3, 21);
  for (float& value : lines.values) value = -std::log(value);
  return lines;
}

// Values of some other stack: discs and their noise, partly below 0.
Array Beside(Shape3 shape, float scale) {
  Array beside = LineIntegrals(shape);
  std::reverse(beside.values.begin(), beside.values.end());
  for (float& value : beside.values) value *= scale;
  return beside;
}

// In each view: runs within rows, at both ends, a whole row, single pixels, and a view without any.
Array Metal(Shape3 shape) {
  Array metal(shape);
  const auto mark = [&](int64_t view, int64_t v, int64_t first, int64_t end) {
    for (int64_t u = std::max<int64_t>(first, 0); u < std::min(end, shape.fast); ++u) {
      metal.values[(view * shape.middle + v) * shape.fast + u] = 2.f;
    }
  };
  for (int64_t view = 0; view + 1 < shape.slow; ++view) {
    mark(view, 0, 0, 5);
    mark(view, shape.middle - 1, shape.fast - 3, shape.fast);
    mark(view, shape.middle / 2, 7 + view, 19);
    mark(view, shape.middle / 2, 22, 23 + view);
    if (view == 1) mark(view, shape.middle / 3, 0, shape.fast);
  }
  return metal;
}

class InterpolateTraceTest : public testing::TestWithParam<Method> {};

Array Interpolated(const Method& method, const ops::MetalTrace& trace, const Array& metal,
                   const Array* prior, const Array& lines) {
  const auto session = OpenSession(method.backend);
  const auto operation = *(*AllMethods().trace.Find(method.backend, method.name))(*session);
  const auto paths = NewStack(*session, lines.shape, kLines);
  const auto expected = NewStack(*session, lines.shape, kLines);
  const auto frames = NewStack(*session, lines.shape, kLines);
  EXPECT_TRUE(paths->Upload(0, metal.view()).ok());
  if (prior != nullptr) {
    EXPECT_TRUE(expected->Upload(0, prior->view()).ok());
  }
  EXPECT_TRUE(frames->Upload(0, lines.view()).ok());
  const absl::Status status = operation->Run(lines.shape.slow, trace, *paths,
                                             prior == nullptr ? nullptr : expected.get(), *frames);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*frames);
}

double LargestDifference(const Array& got, const Array& expected) {
  double largest = 0;
  for (size_t i = 0; i < got.values.size(); ++i) {
    const double difference = std::abs(double{got.values[i]} - expected.values[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

TEST(SecondPassMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().trace).empty());
  EXPECT_FALSE(MethodsUnderTest(AllMethods().bone).empty());
  EXPECT_FALSE(MethodsUnderTest(AllMethods().remove_scatter).empty());
}

TEST_P(InterpolateTraceTest, AgreesWithReference) {
  for (const Shape3 shape : {Shape3{3, 17, 33}, Shape3{4, 37, 53}, Shape3{3, 9, 160}}) {
    const Array lines = LineIntegrals(shape), prior = Beside(shape, 0.9f), metal = Metal(shape);
    for (const int margin : {0, 1, 3, ops::kMostTraceMargin}) {
      for (const Array* expected : {static_cast<const Array*>(nullptr), &prior}) {
        SCOPED_TRACE(testing::Message() << shape.fast << ", margin " << margin);
        const ops::MetalTrace trace{.least = 0.5, .margin = margin};
        EXPECT_LT(LargestDifference(Interpolated(GetParam(), trace, metal, expected, lines),
                                    Interpolated(kReference, trace, metal, expected, lines)),
                  kLineTolerance);
      }
    }
  }
}

TEST_P(InterpolateTraceTest, IsLinearBetweenEdgesAndLeavesTheRest) {
  Array lines({1, 1, 12}), metal(lines.shape);
  for (int u = 0; u < 12; ++u) lines.values[u] = u < 4 ? 1.f : 9.f;
  metal.values[6] = 1;
  lines.values[8] = 3;
  const Array got = Interpolated(GetParam(), {.least = 0, .margin = 1}, metal, nullptr, lines);
  const std::vector<float> expected = {1, 1, 1, 1, 9, 7.5, 6, 4.5, 3, 9, 9, 9};
  for (int u = 0; u < 12; ++u) {
    if (u >= 5 && u <= 7) {
      EXPECT_NEAR(got.values[u], expected[u], 1e-5) << u;
    } else {
      EXPECT_EQ(got.values[u], expected[u]) << u;
    }
  }
}

// What a prior says of the shape is taken over: frames that are the prior come back.
TEST_P(InterpolateTraceTest, APriorThatIsTrueIsFound) {
  const Shape3 shape{2, 17, 33};
  Array lines = LineIntegrals(shape);
  for (float& value : lines.values) value = std::max(value, 0.f);
  Array hidden = lines;
  const Array metal = Metal(shape);
  for (size_t i = 0; i < hidden.values.size(); ++i) hidden.values[i] += 5 * metal.values[i];
  // A row that is all metal stays: none in the first view.
  const Array got = Interpolated(GetParam(), {.least = 0.5, .margin = 2}, metal, &lines, hidden);
  for (int64_t i = 0; i < shape.middle * shape.fast; ++i) {
    ASSERT_NEAR(got.values[i], lines.values[i], 2e-5) << i;
  }
}

TEST_P(InterpolateTraceTest, RefusesWhatIsIllegal) {
  const Shape3 shape{2, 17, 33};
  const auto session = OpenSession(GetParam().backend);
  const auto other = OpenSession("reference");
  const auto operation = *(*AllMethods().trace.Find(GetParam().backend, GetParam().name))(*session);
  const auto lines = NewStack(*session, shape, kLines), metal = NewStack(*session, shape, kLines);
  const auto low = NewStack(*session, {2, 16, 33}, kLines);
  const auto filtered = NewStack(*session, shape, ops::StackUse::kProjections);
  const auto foreign = NewStack(*other, shape, kLines);
  const ops::MetalTrace fine{.least = 0, .margin = 1};
  EXPECT_TRUE(operation->Run(2, fine, *metal, nullptr, *lines).ok());
  EXPECT_TRUE(operation->Run(0, fine, *metal, nullptr, *lines).ok());
  for (const absl::Status& status :
       {operation->Run(3, fine, *metal, nullptr, *lines),
        operation->Run(2, {.least = -1}, *metal, nullptr, *lines),
        operation->Run(2, {.least = std::nan("")}, *metal, nullptr, *lines),
        operation->Run(2, {.margin = -1}, *metal, nullptr, *lines),
        operation->Run(2, {.margin = ops::kMostTraceMargin + 1}, *metal, nullptr, *lines),
        operation->Run(2, fine, *low, nullptr, *lines),
        operation->Run(2, fine, *metal, low.get(), *lines),
        operation->Run(2, fine, *filtered, nullptr, *lines),
        operation->Run(2, fine, *metal, nullptr, *filtered),
        operation->Run(2, fine, *foreign, nullptr, *lines),
        operation->Run(2, fine, *metal, foreign.get(), *lines),
        operation->Run(2, fine, *metal, nullptr, *foreign)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, InterpolateTraceTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().trace)),
                         [](const auto& info) { return MethodName(info.param); });

ops::Calibration WithBone() {
  ops::Calibration calibration;
  ops::BoneTable& table = calibration.bone.emplace();
  table.line_integrals = 7;
  table.bones = 5;
  table.most_line_integral = 6;
  table.most_bone_mm = 80;
  table.from_hu = 100;
  table.full_hu = 1600;
  for (int j = 0; j < 5; ++j) {
    for (int i = 0; i < 7; ++i) table.added.push_back(0.02 * j * j + 0.03 * i * j);
  }
  return calibration;
}

class CorrectBoneTest : public testing::TestWithParam<Method> {};

Array Corrected(const Method& method, const Array& bone, const Array& lines) {
  const auto session = OpenSession(method.backend);
  const auto operation =
      *(*AllMethods().bone.Find(method.backend, method.name))(*session, WithBone());
  const auto paths = NewStack(*session, lines.shape, kLines);
  const auto frames = NewStack(*session, lines.shape, kLines);
  EXPECT_TRUE(paths->Upload(0, bone.view()).ok());
  EXPECT_TRUE(frames->Upload(0, lines.view()).ok());
  const absl::Status status = operation->Run(lines.shape.slow, *paths, *frames);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*frames);
}

TEST_P(CorrectBoneTest, AgreesWithReference) {
  for (const Shape3 shape : {Shape3{3, 17, 33}, Shape3{2, 37, 53}}) {
    // Paths from below 0 to beyond the table, and so are the line integrals.
    const Array lines = LineIntegrals(shape), bone = Beside(shape, 15.f);
    EXPECT_LT(
        LargestDifference(Corrected(GetParam(), bone, lines), Corrected(kReference, bone, lines)),
        kLineTolerance);
  }
}

TEST_P(CorrectBoneTest, AddsTheTableAndNothingWithoutBone) {
  Array lines({1, 1, 4}), bone(lines.shape);
  lines.values = {3, 3, 3, 100};
  bone.values = {0, 40, 30, 1000};
  const Array got = Corrected(GetParam(), bone, lines);
  EXPECT_EQ(got.values[0], 3);
  EXPECT_NEAR(got.values[1], 3 + 0.08 + 0.18, 1e-6);
  EXPECT_NEAR(got.values[2], 3 + (0.02 + 0.08) / 2 + 0.03 * 3 * 1.5, 1e-6);
  EXPECT_NEAR(got.values[3], 100 + 0.32 + 0.72, 2e-5);
}

TEST_P(CorrectBoneTest, RefusesWhatIsIllegal) {
  const auto factory = *AllMethods().bone.Find(GetParam().backend, GetParam().name);
  const auto session = OpenSession(GetParam().backend);
  const auto other = OpenSession("reference");
  EXPECT_EQ(factory(*session, {}).status().code(), absl::StatusCode::kInvalidArgument);
  const auto operation = *factory(*session, WithBone());
  const Shape3 shape{2, 17, 33};
  const auto lines = NewStack(*session, shape, kLines), bone = NewStack(*session, shape, kLines);
  const auto low = NewStack(*session, {2, 16, 33}, kLines);
  const auto filtered = NewStack(*session, shape, ops::StackUse::kProjections);
  const auto foreign = NewStack(*other, shape, kLines);
  EXPECT_TRUE(operation->Run(2, *bone, *lines).ok());
  for (const absl::Status& status :
       {operation->Run(3, *bone, *lines), operation->Run(2, *low, *lines),
        operation->Run(2, *filtered, *lines), operation->Run(2, *bone, *filtered),
        operation->Run(2, *foreign, *lines), operation->Run(2, *bone, *foreign)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, CorrectBoneTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().bone)),
                         [](const auto& info) { return MethodName(info.param); });

class RemoveScatterTest : public testing::TestWithParam<Method> {};

Array WithoutScatter(const Method& method, const ops::WaterPolynomial& water, const Array& scatter,
                     const Array& lines) {
  const auto session = OpenSession(method.backend);
  const auto operation = *(*AllMethods().remove_scatter.Find(method.backend, method.name))(
      *session, ops::Calibration{.water = water});
  const auto cells = NewStack(*session, scatter.shape, kLines);
  const auto frames = NewStack(*session, lines.shape, kLines);
  EXPECT_TRUE(cells->Upload(0, scatter.view()).ok());
  EXPECT_TRUE(frames->Upload(0, lines.view()).ok());
  const absl::Status status = operation->Run(lines.shape.slow, *cells, *frames);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*frames);
}

// Cells from none to some times what comes through.
Array Cells(Shape3 shape) {
  Array cells(shape);
  for (size_t i = 0; i < cells.values.size(); ++i) {
    cells.values[i] = 0.04f * static_cast<float>(i * 7 % 11) / 11;
  }
  return cells;
}

TEST_P(RemoveScatterTest, AgreesWithReference) {
  const ops::WaterPolynomial water{.coefficient = {1.02, 0.01, 0.002, -1e-5}};
  for (const ops::WaterPolynomial& polynomial : {ops::WaterPolynomial(), water}) {
    for (const auto& [frames, cells] : {std::pair(Shape3{3, 17, 33}, Shape3{3, 5, 8}),
                                        std::pair(Shape3{2, 37, 53}, Shape3{2, 1, 1}),
                                        std::pair(Shape3{2, 9, 12}, Shape3{2, 11, 30})}) {
      const Array lines = LineIntegrals(frames), scatter = Cells(cells);
      EXPECT_LT(LargestDifference(WithoutScatter(GetParam(), polynomial, scatter, lines),
                                  WithoutScatter(kReference, polynomial, scatter, lines)),
                kLineTolerance)
          << cells.fast;
    }
  }
}

TEST_P(RemoveScatterTest, IntensitiesLoseItAndKeepATenth) {
  Array lines({1, 1, 4}), scatter({1, 1, 1});
  const float arrived[] = {1.3f, 0.4f, 0.302f, 1e-5f};
  for (int u = 0; u < 4; ++u) lines.values[u] = -std::log(arrived[u]);
  scatter.values[0] = 0.3f;
  const Array got = WithoutScatter(GetParam(), {}, scatter, lines);
  EXPECT_NEAR(got.values[0], 0, 2e-6);
  EXPECT_NEAR(got.values[1], -std::log(0.1), 2e-6);
  // All but a fraction of it would be scatter.
  EXPECT_NEAR(got.values[2], -std::log(0.0302), 2e-6);
  EXPECT_EQ(got.values[3], static_cast<float>(ops::kLongestLineIntegral));
}

TEST_P(RemoveScatterTest, IsLinearBetweenCellsAndConstantBeyond) {
  Array lines({1, 1, 8}), scatter({1, 1, 2});
  scatter.values = {0.f, 0.4f};
  const Array got = WithoutScatter(GetParam(), {}, scatter, lines);
  // Cells are 4 pixels wide: their centres are at 1.5 and 5.5.
  const double expected[] = {0, 0, 0.05, 0.15, 0.25, 0.35, 0.4, 0.4};
  for (int u = 0; u < 8; ++u) EXPECT_NEAR(got.values[u], -std::log(1 - expected[u]), 2e-6) << u;
}

TEST_P(RemoveScatterTest, RefusesWhatIsIllegal) {
  const auto session = OpenSession(GetParam().backend);
  const auto other = OpenSession("reference");
  const auto operation = *(*AllMethods().remove_scatter.Find(GetParam().backend, GetParam().name))(
      *session, ops::Calibration());
  const auto lines = NewStack(*session, {2, 17, 33}, kLines);
  const auto cells = NewStack(*session, {2, 4, 5}, kLines);
  const auto fewer = NewStack(*session, {1, 4, 5}, kLines);
  const auto wide = NewStack(*session, {2, 4, ops::kMostScatterCells + 1}, kLines);
  const auto filtered = NewStack(*session, {2, 17, 33}, ops::StackUse::kProjections);
  const auto foreign = NewStack(*other, {2, 4, 5}, kLines);
  EXPECT_TRUE(operation->Run(2, *cells, *lines).ok());
  for (const absl::Status& status :
       {operation->Run(3, *cells, *lines), operation->Run(2, *fewer, *lines),
        operation->Run(2, *wide, *lines), operation->Run(2, *cells, *filtered),
        operation->Run(2, *filtered, *lines), operation->Run(2, *foreign, *lines)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, RemoveScatterTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().remove_scatter)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
