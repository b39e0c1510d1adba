#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/conformance/correction.h"
#include "tests/conformance/transmissions.h"

namespace isocenter::conformance {
namespace {

// float32 rounds each of the few steps by 6e-8 of a value near 1: 1e-6 of a line integral of 1 and
// more is 0.001 HU in 200 mm of water, before views are averaged.
constexpr double kTolerance = 2e-6;

ops::Calibration SomeCalibration(const Detector& detector, uint32_t seed) {
  std::mt19937 random(seed);
  ops::Calibration calibration{.name = "some", .detector = detector};
  ops::PixelResponse& response = calibration.response.emplace();
  for (int i = 0; i < detector.rows * detector.columns; ++i) {
    response.offset_counts.push_back(static_cast<float>(Uniform(random, 0, 3000)));
    response.air_counts.push_back(static_cast<float>(Uniform(random, 20000, 50000)));
  }
  calibration.lag = {{.share = 0.03, .release = 0.5}, {.share = 0.02, .release = 0.01}};
  calibration.water.coefficient = {0.95, 0.04, -0.001, 2e-5};
  return calibration;
}

std::vector<uint16_t> SomeCounts(Shape3 shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> counts(shape.count());
  for (uint16_t& count : counts) count = static_cast<uint16_t>(random());
  counts.front() = 0;
  counts.back() = 65535;
  return counts;
}

// Intensities as behind a patient.
Array SomeFrames(Shape3 shape, uint32_t seed) {
  std::mt19937 random(seed);
  Array frames(shape);
  for (float& value : frames.values) {
    value = static_cast<float>(std::exp(-Uniform(random, -0.1, 6)));
  }
  return frames;
}

// One operation of one backend, with a stack for its frames.
template <class Operation>
class Correction {
 public:
  Correction(const ops::MethodTable<ops::Factory<Operation, ops::Calibration>>& table,
             const Method& method, const ops::Calibration& calibration, int threads = 2)
      : session_(OpenSession(method.backend, threads)),
        operation_(Made(table, method, *session_, calibration)) {}
  Operation* operator->() { return operation_.get(); }
  std::unique_ptr<ops::ProjectionStack> Stack(const Array& values) {
    auto stack = NewStack(*session_, values.shape, ops::StackUse::kLineIntegrals);
    EXPECT_TRUE(stack->Upload(0, values.view()).ok());
    return stack;
  }
  // In place, of all frames.
  Array Run(const Array& frames) {
    const auto stack = Stack(frames);
    const absl::Status status = operation_->Run(frames.shape.slow, *stack);
    EXPECT_TRUE(status.ok()) << status;
    return Downloaded(*stack);
  }

 private:
  const OpenedSession session_;
  const std::unique_ptr<Operation> operation_;
};

const ops::CorrectionMethods& Table() { return AllMethods().corrections; }

class NormalizeCountsTest : public testing::TestWithParam<Method> {
 protected:
  static Array Run(const Method& method, StridedView3<const uint16_t> counts,
                   const ops::Calibration& calibration, int threads = 2) {
    Correction correction(Table().normalize, method, calibration, threads);
    const auto stack = correction.Stack(Array(counts.shape()));
    const absl::Status status = correction->Run(counts, *stack);
    EXPECT_TRUE(status.ok()) << status;
    return Downloaded(*stack);
  }
};

TEST_P(NormalizeCountsTest, AgreesWithReference) {
  for (const Shape3 shape : {Shape3{1, 1, 1}, Shape3{3, 37, 53}, Shape3{2, 5, 128}}) {
    const std::vector<uint16_t> counts = SomeCounts(shape, 1);
    const ops::Calibration calibration = SomeCalibration(DetectorOf(shape), 2);
    const StridedView3<const uint16_t> frames(counts.data(), shape);
    EXPECT_LT(
        Compare(Run(GetParam(), frames, calibration), Run(kReference, frames, calibration)).largest,
        kTolerance);
  }
}

TEST_P(NormalizeCountsTest, ThreadsDoNotMatter) {
  const Shape3 shape{3, 70, 53};
  const std::vector<uint16_t> counts = SomeCounts(shape, 3);
  const ops::Calibration calibration = SomeCalibration(DetectorOf(shape), 4);
  const StridedView3<const uint16_t> frames(counts.data(), shape);
  EXPECT_EQ(Run(GetParam(), frames, calibration, 1).values,
            Run(GetParam(), frames, calibration, 5).values);
}

// Two calls, whose uploads overlap the kernels of the one before.
TEST_P(NormalizeCountsTest, CallsFollowEachOther) {
  const Shape3 shape{2, 37, 53};
  const ops::Calibration calibration = SomeCalibration(DetectorOf(shape), 5);
  Correction correction(Table().normalize, GetParam(), calibration);
  const auto stack = correction.Stack(Array(shape));
  for (uint32_t call = 0; call < 4; ++call) {
    const std::vector<uint16_t> counts = SomeCounts(shape, 6 + call);
    const StridedView3<const uint16_t> frames(counts.data(), shape);
    ASSERT_TRUE(correction->Run(frames, *stack).ok());
    EXPECT_LT(Compare(Downloaded(*stack), Run(kReference, frames, calibration)).largest,
              kTolerance);
  }
}

TEST_P(NormalizeCountsTest, FramesOfAnotherSizeAreRefused) {
  const Shape3 shape{2, 6, 8};
  Correction correction(Table().normalize, GetParam(), SomeCalibration(DetectorOf(shape), 7));
  const std::vector<uint16_t> counts(96);
  const auto stack = correction.Stack(Array({2, 8, 6}));
  const absl::Status status =
      correction->Run(StridedView3<const uint16_t>(counts.data(), {2, 8, 6}), *stack);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

class InterpolateDefectsTest : public testing::TestWithParam<Method> {};

// Single pixels, a line to the edge, a cluster, both corners.
ops::Calibration WithDefects(const Detector& detector) {
  ops::Calibration calibration{.detector = detector};
  std::vector<bool> defective(detector.rows * detector.columns);
  const auto mark = [&](int u, int v) { defective[v * detector.columns + u] = true; };
  for (int v = 0; v < detector.rows; ++v) mark(20, v);
  for (int v = 9; v < 14; ++v) {
    for (int u = 30; u < 36; ++u) mark(u, v);
  }
  mark(5, 5);
  mark(6, 5);
  mark(0, 17);
  for (const int u : {0, detector.columns - 1}) {
    for (const int v : {0, detector.rows - 1}) mark(u, v);
  }
  for (int v = 20; v < 37; ++v) mark(detector.columns - 1, v);
  mark(detector.columns - 1, 3);
  for (size_t i = 0; i < defective.size(); ++i) {
    if (defective[i]) calibration.defects.pixels.push_back(static_cast<int32_t>(i));
  }
  EXPECT_TRUE(ops::CheckDefectMap(calibration.defects, detector).ok());
  return calibration;
}

TEST_P(InterpolateDefectsTest, AgreesWithReference) {
  const Shape3 shape{3, 37, 53};
  const ops::Calibration calibration = WithDefects(DetectorOf(shape));
  Array frames = SomeFrames(shape, 11);
  for (const int32_t pixel : calibration.defects.pixels) {
    frames.values[pixel] = std::numeric_limits<float>::quiet_NaN();
  }
  const Array got = Correction(Table().defects, GetParam(), calibration).Run(frames);
  const Array expected = Correction(Table().defects, kReference, calibration).Run(frames);
  for (const float value : expected.values) ASSERT_TRUE(std::isfinite(value));
  EXPECT_LT(Compare(got, expected).largest, 3 * kTolerance);
}

// A slope stays one, and an edge that a line of defects crosses stays as sharp as it was.
TEST_P(InterpolateDefectsTest, SlopesAndEdgesStay) {
  const Shape3 shape{1, 37, 53};
  const ops::Calibration calibration = WithDefects(DetectorOf(shape));
  Array slope(shape), edge(shape);
  for (int v = 0; v < 37; ++v) {
    for (int u = 0; u < 53; ++u) {
      slope.view()(0, v, u) = static_cast<float>(1 + 0.01 * u - 0.005 * v);
      edge.view()(0, v, u) = v < 25 ? 1.f : 0.1f;
    }
  }
  Array planted_slope = slope, planted_edge = edge;
  for (const int32_t pixel : calibration.defects.pixels) {
    planted_slope.values[pixel] = planted_edge.values[pixel] = 0;
  }
  Correction correction(Table().defects, GetParam(), calibration);
  const Array slope_again = correction.Run(planted_slope);
  const Array edge_again = correction.Run(planted_edge);
  for (size_t i = 0; i < slope.values.size(); ++i) {
    // At the border there is a neighbour at one side only, one pixel further.
    const size_t u = i % 53, v = i / 53;
    const bool at_border = u == 0 || v == 0 || u == 52 || v == 36;
    ASSERT_NEAR(slope_again.values[i], slope.values[i], at_border ? 0.0101 : 1e-5) << i;
    ASSERT_NEAR(edge_again.values[i], edge.values[i], 2e-3) << i;
  }
}

class CorrectLagTest : public testing::TestWithParam<Method> {};

TEST_P(CorrectLagTest, AgreesWithReference) {
  for (const auto& [terms, columns] :
       {std::pair{1, 45}, {2, 46}, {4, 45}, {4, 46}, {8, 45}, {8, 46}}) {
    const Shape3 shape{9, 19, columns};
    ops::Calibration calibration{.detector = DetectorOf(shape)};
    for (int n = 0; n < terms; ++n) {
      calibration.lag.push_back({.share = 0.1 / terms, .release = std::pow(0.4, n)});
    }
    const Array frames = SomeFrames(shape, 21);
    EXPECT_LT(Compare(Correction(Table().lag, GetParam(), calibration).Run(frames),
                      Correction(Table().lag, kReference, calibration).Run(frames))
                  .largest,
              kTolerance)
        << terms << " " << columns;
  }
}

// What streaming and batch rest on, and what a second reconstruction does.
TEST_P(CorrectLagTest, ChunksAndRestartsDoNotMatter) {
  const Shape3 shape{7, 19, 46};
  const ops::Calibration calibration = SomeCalibration(DetectorOf(shape), 22);
  const Array frames = SomeFrames(shape, 23);
  Correction correction(Table().lag, GetParam(), calibration, 3);
  const Array at_once = correction.Run(frames);
  ASSERT_TRUE(correction->Restart().ok());
  Array in_chunks(shape);
  for (const auto& [first, views] : {std::pair{0, 4}, {4, 1}, {5, 2}}) {
    Array chunk({views, 19, 46});
    std::copy_n(frames.view().row(first, 0), chunk.values.size(), chunk.values.begin());
    const Array corrected = correction.Run(chunk);
    std::copy(corrected.values.begin(), corrected.values.end(), in_chunks.view().row(first, 0));
  }
  EXPECT_EQ(in_chunks.values, at_once.values);
}

class LinearizeTest : public testing::TestWithParam<Method> {
 protected:
  static Array Run(const Method& method, const ops::Calibration& calibration, const Array& frames,
                   const Array& doses) {
    Correction correction(Table().linearize, method, calibration);
    const auto stack = correction.Stack(frames), dose_stack = correction.Stack(doses);
    const absl::Status status = correction->Run(frames.shape.slow, *dose_stack, *stack);
    EXPECT_TRUE(status.ok()) << status;
    return Downloaded(*stack);
  }
};

// An odd and an even number of pixels.
TEST_P(LinearizeTest, AgreesWithReference) {
  for (const Shape3 shape : {Shape3{3, 37, 53}, Shape3{3, 37, 54}}) {
    Array frames = SomeFrames(shape, 31);
    frames.values[3] = 0;
    frames.values[4] = -1;
    frames.values[5] = std::numeric_limits<float>::quiet_NaN();
    frames.values[6] = std::numeric_limits<float>::infinity();
    frames.values[7] = -std::numeric_limits<float>::infinity();
    Array doses({3, 1, 1});
    doses.values = {0.7f, 1, 1.3f};
    const ops::Calibration with_water = SomeCalibration(DetectorOf(shape), 32);
    ops::Calibration without = with_water;
    without.water.coefficient.clear();
    ops::Calibration by_column = with_water;
    for (int u = 0; u < shape.fast; ++u) {
      by_column.water.hardness.push_back(static_cast<float>(1.5 - 1.5 * std::cos(0.11 * u)));
    }
    for (const ops::Calibration& calibration : {with_water, without, by_column}) {
      const Array got = Run(GetParam(), calibration, frames, doses);
      const Array expected = Run(kReference, calibration, frames, doses);
      for (int i = 3; i <= 7; ++i) EXPECT_GT(expected.values[i], 10) << i;
      EXPECT_LT(Compare(got, expected).largest, kTolerance);
    }
  }
}

// The same of a column alone: behind so much water as the polynomial says, air is still air.
TEST_P(LinearizeTest, HardnessOfAColumnIsThatOfWaterInFrontOfIt) {
  const Shape3 shape{1, 2, 3};
  ops::Calibration calibration = SomeCalibration(DetectorOf(shape), 34);
  calibration.water = {.coefficient = {1, 0.1}, .hardness = {0, 0.5f, 2}};
  Array frames(shape), doses({1, 1, 1});
  doses.values = {1};
  for (int u = 0; u < 3; ++u) {
    frames.values[u] = 1;
    frames.values[3 + u] = std::exp(-1.f);
  }
  const Array got = Run(GetParam(), calibration, frames, doses);
  for (int u = 0; u < 3; ++u) {
    const double h = calibration.water.hardness[u];
    EXPECT_NEAR(got.values[u], 0, kTolerance);
    EXPECT_NEAR(got.values[3 + u], 1 + 0.1 * (1 + 2 * h), kTolerance);
  }
}

TEST_P(LinearizeTest, MissingDosesAreRefused) {
  const Shape3 shape{3, 6, 8};
  Correction correction(Table().linearize, GetParam(), SomeCalibration(DetectorOf(shape), 33));
  const auto stack = correction.Stack(Array(shape)), doses = correction.Stack(Array({2, 1, 1}));
  EXPECT_EQ(correction->Run(3, *doses, *stack).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Methods, NormalizeCountsTest,
                         testing::ValuesIn(MethodsUnderTest(Table().normalize)),
                         [](const auto& info) { return MethodName(info.param); });
INSTANTIATE_TEST_SUITE_P(Methods, InterpolateDefectsTest,
                         testing::ValuesIn(MethodsUnderTest(Table().defects)),
                         [](const auto& info) { return MethodName(info.param); });
INSTANTIATE_TEST_SUITE_P(Methods, CorrectLagTest, testing::ValuesIn(MethodsUnderTest(Table().lag)),
                         [](const auto& info) { return MethodName(info.param); });
INSTANTIATE_TEST_SUITE_P(Methods, LinearizeTest,
                         testing::ValuesIn(MethodsUnderTest(Table().linearize)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
