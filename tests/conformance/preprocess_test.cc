#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/conformance/conformance.h"
#include "tests/conformance/geometries.h"

namespace isocenter::conformance {
namespace {

class PreprocessTest : public testing::TestWithParam<Method> {
 protected:
  Array Run(const std::string& backend, const std::string& method, const ops::RawFrames& frames,
            const ops::CountRange& range, const std::vector<ops::ViewWeights>& weights,
            int threads = 2) {
    const auto session = OpenSession(backend, threads);
    const auto factory = AllMethods().preprocess.Find(backend, method);
    EXPECT_TRUE(factory.ok()) << factory.status();
    const auto operation = (*factory)(*session);
    EXPECT_TRUE(operation.ok()) << operation.status();
    const auto stack = NewStack(*session, frames.shape(), ops::StackUse::kLineIntegrals);
    const absl::Status status = (*operation)->Run(frames, range, weights, *stack);
    EXPECT_TRUE(status.ok()) << status;
    return Downloaded(*stack);
  }
};

struct Weights {
  Weights(Shape3 shape, uint32_t seed) : column(Noise({shape.slow, 1, shape.fast}, seed)) {
    std::mt19937 random(seed);
    for (int64_t view = 0; view < shape.slow; ++view) {
      views.push_back({.matrix = RandomMatrix(random, shape, 100),
                       .column_weight = std::span(column.view().row(view, 0), shape.fast)});
    }
  }
  Array column;
  std::vector<ops::ViewWeights> views;
};

TEST(PreprocessMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().preprocess).empty());
}

// float32 holds a line integral of up to 11 to 1e-6; the logarithm, the cosine and two products add
// a few roundings of 6e-8 each.
constexpr double kTolerance = 2e-6;

TEST_P(PreprocessTest, CountsAgreeWithReference) {
  for (const Shape3 shape : {Shape3{1, 1, 1}, Shape3{3, 37, 53}, Shape3{2, 5, 128}}) {
    std::mt19937 random(5);
    std::vector<uint16_t> counts(shape.count());
    for (uint16_t& count : counts) count = static_cast<uint16_t>(random());
    counts.back() = 65535;
    counts.front() = 0;  // dead
    const Weights weights(shape, 6);
    for (const ops::CountRange& range :
         {ops::CountRange{}, ops::CountRange{.i0 = 30000.5, .lowest = 4}}) {
      ops::RawFrames frames{.counts = {counts.data(), shape}};
      const Difference difference =
          Compare(Run(GetParam().backend, GetParam().name, frames, range, weights.views),
                  Run("reference", "", frames, range, weights.views));
      EXPECT_LT(difference.largest, kTolerance) << shape.slow << " " << shape.fast;
    }
  }
}

TEST_P(PreprocessTest, LineIntegralsAgreeWithReference) {
  const Shape3 shape{2, 19, 45};
  Array integrals = Noise(shape, 7);
  integrals.values[3] = std::numeric_limits<float>::quiet_NaN();
  integrals.values[44] = std::numeric_limits<float>::infinity();
  integrals.values[45] = -std::numeric_limits<float>::infinity();
  const Weights weights(shape, 8);
  ops::RawFrames frames{.line_integrals = integrals.view()};
  const Array got = Run(GetParam().backend, GetParam().name, frames, {}, weights.views);
  EXPECT_EQ(got.values[3], 0);
  EXPECT_EQ(got.values[44], 0);
  EXPECT_EQ(got.values[45], 0);
  EXPECT_LT(Compare(got, Run("reference", "", frames, {}, weights.views)).largest, kTolerance);
}

// Views with and without the cosine weight in one call.
TEST_P(PreprocessTest, CosineWeightCanBeLeftOut) {
  const Shape3 shape{3, 19, 45};
  const Array integrals = Noise(shape, 11);
  Weights weights(shape, 12);
  weights.views[0].cosine = weights.views[2].cosine = false;
  std::vector<uint16_t> counts(shape.count());
  std::mt19937 random(13);
  for (uint16_t& count : counts) count = static_cast<uint16_t>(random());
  for (const ops::RawFrames& frames : {ops::RawFrames{.line_integrals = integrals.view()},
                                       ops::RawFrames{.counts = {counts.data(), shape}}}) {
    const Array got = Run(GetParam().backend, GetParam().name, frames, {}, weights.views);
    EXPECT_LT(Compare(got, Run("reference", "", frames, {}, weights.views)).largest, kTolerance);
    if (frames.counts) continue;
    // The weight is 1 exactly, not nearly.
    for (const int64_t view : {0, 2}) {
      for (int64_t v = 0; v < shape.middle; ++v) {
        for (int64_t u = 0; u < shape.fast; ++u) {
          ASSERT_EQ(got.view()(view, v, u),
                    integrals.view()(view, v, u) * weights.views[view].column_weight[u]);
        }
      }
    }
  }
}

// Line integrals that are on the device are weighed as those of the host: rows of them, and more
// columns around them.
TEST_P(PreprocessTest, WhatIsOnTheDeviceIsWeighedAlike) {
  const Shape3 shape{3, 19, 45};
  const Array frames = Noise({4, 30, 45}, 17);
  const Weights weights(shape, 18);
  const auto session = OpenSession(GetParam().backend);
  const auto factory = AllMethods().preprocess.Find(GetParam().backend, GetParam().name);
  ASSERT_TRUE(factory.ok()) << factory.status();
  const auto operation = (*factory)(*session);
  ASSERT_TRUE(operation.ok()) << operation.status();
  const auto source = NewStack(*session, frames.shape, ops::StackUse::kLineIntegrals);
  ASSERT_TRUE(source->Upload(0, frames.view()).ok());
  const auto weighed = NewStack(*session, {3, 19, 80}, ops::StackUse::kLineIntegrals);
  const auto expected = NewStack(*session, {3, 19, 80}, ops::StackUse::kLineIntegrals);
  absl::Status status = (*operation)->Weigh(*source, 1, {5, 19}, weights.views, *weighed, 16);
  ASSERT_TRUE(status.ok()) << status;
  const ops::RawFrames rows{.line_integrals =
                                StridedView3<const float>(frames.view().slices(1, 3)).rows(5, 19)};
  status = (*operation)->Run(rows, {}, weights.views, *expected, 16);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Downloaded(*weighed).values, Downloaded(*expected).values);
  for (const RowRange rows_beyond : {RowRange{12, 19}, RowRange{-1, 19}}) {
    EXPECT_EQ((*operation)->Weigh(*source, 1, rows_beyond, weights.views, *weighed, 16).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// Rows that are cut out of each frame.
TEST_P(PreprocessTest, FramesNeedNotBeDense) {
  const Shape3 shape{3, 19, 45};
  const Array larger = Noise({3, 30, 45}, 14);
  Array cut(shape);
  for (int64_t view = 0; view < 3; ++view) {
    std::copy_n(larger.view().row(view, 5), 19 * 45, cut.view().row(view, 0));
  }
  const Weights weights(shape, 15);
  const auto run = [&](const ops::RawFrames& frames) {
    return Run(GetParam().backend, GetParam().name, frames, {}, weights.views).values;
  };
  EXPECT_EQ(run({.line_integrals = larger.view().rows(5, 19)}),
            run({.line_integrals = cut.view()}));
}

// A stack that is narrower than it was made for.
TEST_P(PreprocessTest, StacksAreReshaped) {
  const Shape3 shape{2, 7, 33};
  const Array integrals = Noise(shape, 16);
  const ops::RawFrames frames{.line_integrals = integrals.view()};
  const Weights weights(shape, 17);
  const auto session = OpenSession(GetParam().backend);
  const auto operation =
      (*AllMethods().preprocess.Find(GetParam().backend, GetParam().name))(*session);
  const auto stack = NewStack(*session, {3, 9, 50}, ops::StackUse::kLineIntegrals);
  ASSERT_TRUE(stack->Reshape(shape).ok());
  ASSERT_TRUE((*operation)->Run(frames, {}, weights.views, *stack).ok());
  EXPECT_EQ(Downloaded(*stack).values,
            Run(GetParam().backend, GetParam().name, frames, {}, weights.views).values);
}

// A stack that is wider than the frames: they are where they were asked for, bit for bit, and 0 is
// beside them, whatever was there before.
TEST_P(PreprocessTest, FramesMayGoToSomeOfTheColumns) {
  const Shape3 shape{2, 7, 45};
  const Array integrals = Noise(shape, 21);
  const Weights weights(shape, 22);
  const ops::RawFrames frames{.line_integrals = integrals.view()};
  const Array alone = Run(GetParam().backend, GetParam().name, frames, {}, weights.views);
  const auto session = OpenSession(GetParam().backend);
  const auto operation =
      (*AllMethods().preprocess.Find(GetParam().backend, GetParam().name))(*session);
  for (const auto& [columns, first] :
       {std::pair<int64_t, int64_t>{61, 16}, {77, 0}, {93, 32}, {46, 0}}) {
    const Shape3 wide{2, 7, columns};
    const Array before = Noise(wide, 23);
    const auto stack = NewStack(*session, wide, ops::StackUse::kLineIntegrals);
    ASSERT_TRUE(stack->Upload(0, before.view()).ok());
    const absl::Status status = (*operation)->Run(frames, {}, weights.views, *stack, first);
    ASSERT_TRUE(status.ok()) << status;
    const Array got = Downloaded(*stack);
    for (int64_t view = 0; view < 2; ++view) {
      for (int64_t v = 0; v < 7; ++v) {
        for (int64_t u = 0; u < columns; ++u) {
          const bool inside = u >= first && u < first + 45;
          ASSERT_EQ(got.view()(view, v, u), inside ? alone.view()(view, v, u - first) : 0)
              << columns << " " << first << " " << u;
        }
      }
    }
  }
  const auto stack = NewStack(*session, {2, 7, 61}, ops::StackUse::kLineIntegrals);
  for (const int64_t first : {-16, 8, 32}) {
    const absl::Status status = (*operation)->Run(frames, {}, weights.views, *stack, first);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

TEST_P(PreprocessTest, RefusesFramesThatAreNoneOrBothAndSettingsOutOfRange) {
  const auto session = OpenSession(GetParam().backend);
  const auto operation =
      (*AllMethods().preprocess.Find(GetParam().backend, GetParam().name))(*session);
  const Shape3 shape{2, 4, 5};
  const Array integrals = Noise(shape, 18);
  const std::vector<uint16_t> counts(shape.count(), 9);
  const Weights weights(shape, 19);
  Weights infinite(shape, 20);
  infinite.views[1].matrix.m[3] = std::numeric_limits<double>::infinity();
  const auto out = NewStack(*session, shape, ops::StackUse::kLineIntegrals);
  const ops::RawFrames raw{.counts = {counts.data(), shape}};
  EXPECT_TRUE((*operation)->Run(raw, {}, weights.views, *out).ok());
  for (const absl::Status& status :
       {(*operation)->Run({}, {}, weights.views, *out),
        (*operation)
            ->Run({.counts = raw.counts, .line_integrals = integrals.view()}, {}, weights.views,
                  *out),
        (*operation)->Run(raw, {.i0 = 0}, weights.views, *out),
        (*operation)->Run(raw, {.lowest = 0}, weights.views, *out),
        (*operation)->Run(raw, {}, infinite.views, *out)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

TEST_P(PreprocessTest, RefusesWrongShapes) {
  const auto session = OpenSession(GetParam().backend);
  const auto operation =
      (*AllMethods().preprocess.Find(GetParam().backend, GetParam().name))(*session);
  const Array integrals = Noise({2, 4, 5}, 9);
  const ops::RawFrames frames{.line_integrals = integrals.view()};
  const Weights weights({2, 4, 5}, 10), few({1, 4, 5}, 10), narrow({2, 4, 4}, 10);
  const auto right = NewStack(*session, {2, 4, 5}, ops::StackUse::kLineIntegrals);
  const auto small = NewStack(*session, {1, 4, 5}, ops::StackUse::kLineIntegrals);
  const auto other_use = NewStack(*session, {2, 4, 5}, ops::StackUse::kProjections);
  EXPECT_TRUE((*operation)->Run(frames, {}, weights.views, *right).ok());
  for (const absl::Status& status : {(*operation)->Run(frames, {}, weights.views, *small),
                                     (*operation)->Run(frames, {}, weights.views, *other_use),
                                     (*operation)->Run(frames, {}, few.views, *right),
                                     (*operation)->Run(frames, {}, narrow.views, *right)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, PreprocessTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().preprocess)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
