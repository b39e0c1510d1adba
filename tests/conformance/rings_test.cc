#include <gtest/gtest.h>

#include <cmath>

#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

const Method kReference{"reference", "plain"};
// Float32 arithmetic on up to 2000 HU, three times.
constexpr double kTolerance = 0.02;

class RemoveRingsTest : public testing::TestWithParam<Method> {};

ops::RingSpec Spec(int nx, int ny, int nz, Vec3 spacing, double axis_i, double axis_j) {
  return {.grid = CenteredGrid(nx, ny, nz, spacing), .axis_i = axis_i, .axis_j = axis_j};
}

/// The slices from `first` on, of values for all.
Array Corrected(const Method& method, const ops::RingSpec& spec, const Array& all, int first,
                int slices) {
  const auto session = OpenSession(method.backend);
  const auto operation = (*AllMethods().rings.Find(method.backend, method.name))(*session, spec);
  EXPECT_TRUE(operation.ok()) << operation.status();
  VolumeGrid part = spec.grid;
  part.nz = slices;
  const auto volume = NewVolume(*session, part);
  EXPECT_TRUE(volume->Upload(0, all.view().slices(first, slices)).ok());
  const absl::Status status = (*operation)->Run(first, *volume);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*volume);
}

double LargestDifference(const Array& got, const Array& expected) {
  double largest = 0;
  for (size_t i = 0; i < got.values.size(); ++i) {
    const double difference = std::abs(double{got.values[i]} - expected.values[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

/// A tilted edge from air to bone, noise, rings and arcs, some larger than what is believed.
Array RingsAndNoise(const ops::RingSpec& spec, uint32_t seed) {
  Array volume = Noise(spec.grid.shape(), seed);
  size_t at = 0;
  for (int k = 0; k < spec.grid.nz; ++k) {
    for (int j = 0; j < spec.grid.ny; ++j) {
      for (int i = 0; i < spec.grid.nx; ++i, ++at) {
        const double x = (i - spec.axis_i) * spec.grid.spacing.x;
        const double y = (j - spec.axis_j) * spec.grid.spacing.y;
        const double radius = std::hypot(x, y);
        double value = 40 * volume.values[at] + (x + 0.3 * y > 9 ? 900 : 0);
        value += 30 * std::sin(0.3 * k) * std::exp(-std::pow(radius - 12, 2));
        if (y > 0) value += 90 * std::exp(-std::pow(radius - 20, 2));
        value += 300 * std::exp(-std::pow(radius - 27, 2));
        volume.values[at] = static_cast<float>(value);
      }
    }
  }
  return volume;
}

TEST(RemoveRingsMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().rings).empty());
}

TEST_P(RemoveRingsTest, AgreesWithReference) {
  for (const ops::RingSpec& spec :
       {Spec(41, 33, 5, {1, 1, 2}, 20, 16), Spec(48, 37, 19, {1.3, 0.9, 1}, 21.37, 18.9),
        // The axis beside the volume, and one voxel.
        Spec(24, 31, 2, {1, 1, 1}, -7.3, 11.2), Spec(1, 1, 1, {1, 1, 1}, 0, 0),
        Spec(2, 1, 1, {1, 1, 1}, 0.4, 3)}) {
    SCOPED_TRACE(testing::Message() << spec.grid.nx << "x" << spec.grid.ny);
    const Array volume = RingsAndNoise(spec, 5);
    const Array expected = Corrected(kReference, spec, volume, 0, spec.grid.nz);
    EXPECT_LT(LargestDifference(Corrected(GetParam(), spec, volume, 0, spec.grid.nz), expected),
              kTolerance);
    if (spec.grid.nx > 2) {
      EXPECT_GT(LargestDifference(expected, volume), 5);
    }
  }
}

TEST_P(RemoveRingsTest, SlabsAreTheSameBits) {
  const ops::RingSpec spec = Spec(37, 35, 21, {1, 1, 1}, 18.2, 17);
  const Array volume = RingsAndNoise(spec, 6);
  const Array whole = Corrected(GetParam(), spec, volume, 0, 21);
  const Array slab = Corrected(GetParam(), spec, volume, 7, 13);
  for (size_t i = 0; i < slab.values.size(); ++i) {
    ASSERT_EQ(slab.values[i], whole.values[i + 7 * 37 * 35]) << i;
  }
}

// What ascends or descends along each radius is no ring: an edge of any direction, a ball around
// the axis.
TEST_P(RemoveRingsTest, EdgesStay) {
  const ops::RingSpec spec = Spec(65, 65, 2, {0.5, 0.5, 0.5}, 32, 32);
  Array volume(spec.grid.shape());
  for (int64_t at = 0; at < volume.shape.count(); ++at) {
    const double x = double(at % 65) - 32, y = double(at / 65 % 65) - 32;
    volume.values[at] =
        static_cast<float>(at < 65 * 65 ? 1000 / (1 + std::exp(2 * (x + 0.4 * y - 15)))
                                        : 1000 / (1 + std::exp(2 * (std::hypot(x, y) - 22))));
  }
  // Of a curved edge, bilinear samples leave a little.
  EXPECT_LT(LargestDifference(Corrected(GetParam(), spec, volume, 0, 2), volume), 12);
}

TEST_P(RemoveRingsTest, RefusesWhatIsIllegal) {
  const auto session = OpenSession(GetParam().backend);
  const auto other = OpenSession("reference");
  const auto factory = *AllMethods().rings.Find(GetParam().backend, GetParam().name);
  const ops::RingSpec spec = Spec(17, 16, 9, {1, 1, 1}, 8, 7.5);
  EXPECT_EQ(factory(*session, Spec(17, 16, 9, {1, 1, 1}, 1e5, 0)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(factory(*session, Spec(17, 16, 9, {1, 1, 1}, std::nan(""), 0)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(factory(*session, Spec(0, 16, 9, {1, 1, 1}, 0, 0)).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto operation = *factory(*session, spec);
  const auto whole = NewVolume(*session, spec.grid);
  const auto foreign = NewVolume(*other, spec.grid);
  const auto narrow = NewVolume(*session, CenteredGrid(16, 16, 9, {1, 1, 1}));
  EXPECT_TRUE(operation->Run(0, *whole).ok());
  for (const absl::Status& status : {operation->Run(1, *whole), operation->Run(-1, *whole),
                                     operation->Run(0, *narrow), operation->Run(0, *foreign)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

class RemoveStripesTest : public testing::TestWithParam<Method> {};

// A line integral is up to 12: two float32 roundings.
constexpr double kLineTolerance = 4e-6;

Array WithoutStripes(const Method& method, const Array& lines) {
  const auto session = OpenSession(method.backend);
  const auto operation = *(*AllMethods().stripes.Find(method.backend, method.name))(*session);
  const auto frames = NewStack(*session, lines.shape, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(frames->Upload(0, lines.view()).ok());
  const absl::Status status = operation->Run(*frames);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*frames);
}

/// What a bar that moves over the detector attenuates, and noise.
Array Bar(Shape3 shape, uint32_t seed, float noise) {
  Array lines = Noise(shape, seed);
  for (int64_t i = 0; i < shape.count(); ++i) {
    const int64_t u = i % shape.fast, view = i / (shape.fast * shape.middle);
    const double from = double(shape.fast) * (0.5 + 0.3 * std::sin(0.4 * double(view)));
    lines.values[i] = noise * lines.values[i] + (std::abs(double(u) - from) < 6 ? 2.f : 0.5f);
  }
  return lines;
}

float StripeOf(int64_t u, int64_t v) {
  if (u == 9) return 0.02f;
  if (u == 20 && v % 3 == 1) return -0.05f;
  return 0;
}

TEST_P(RemoveStripesTest, AgreesWithReference) {
  for (const Shape3 shape : {Shape3{21, 5, 45}, Shape3{32, 3, 64}, Shape3{1, 2, 3},
                             Shape3{7, 2, 40}, Shape3{9, 1, 13}, Shape3{70, 7, 33}}) {
    SCOPED_TRACE(testing::Message() << shape.slow << "x" << shape.middle << "x" << shape.fast);
    Array lines = Bar(shape, 8, 0.3f);
    for (int64_t i = 0; i < shape.count(); ++i) {
      lines.values[i] += StripeOf(i % shape.fast, i / shape.fast % shape.middle);
    }
    EXPECT_LT(
        LargestDifference(WithoutStripes(GetParam(), lines), WithoutStripes(kReference, lines)),
        kLineTolerance);
  }
}

TEST_P(RemoveStripesTest, TakesOffWhatAllViewsHaveAndNothingElse) {
  const Shape3 shape{40, 6, 50};
  const Array object = Bar(shape, 9, 0);
  Array lines = object;
  for (int64_t i = 0; i < shape.count(); ++i) {
    lines.values[i] += StripeOf(i % shape.fast, i / shape.fast % shape.middle);
    if (i % shape.fast == 30) lines.values[i] += 0.3f;  // too much for a stripe
  }
  const Array got = WithoutStripes(GetParam(), lines);
  for (int64_t i = 0; i < shape.count(); ++i) {
    const float expected = object.values[i] + (i % shape.fast == 30 ? 0.3f : 0.f);
    ASSERT_NEAR(got.values[i], expected, 1e-6) << i;
  }
}

TEST_P(RemoveStripesTest, RefusesWhatIsIllegal) {
  const Shape3 shape{4, 3, 20};
  const auto session = OpenSession(GetParam().backend);
  const auto other = OpenSession("reference");
  const auto operation =
      *(*AllMethods().stripes.Find(GetParam().backend, GetParam().name))(*session);
  const auto filtered = NewStack(*session, shape, ops::StackUse::kProjections);
  const auto foreign = NewStack(*other, shape, ops::StackUse::kLineIntegrals);
  EXPECT_EQ(operation->Run(*filtered).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(operation->Run(*foreign).code(), absl::StatusCode::kInvalidArgument);
}

TEST(RemoveStripesMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().stripes).empty());
}

INSTANTIATE_TEST_SUITE_P(Methods, RemoveStripesTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().stripes)),
                         [](const auto& info) { return MethodName(info.param); });

INSTANTIATE_TEST_SUITE_P(Methods, RemoveRingsTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().rings)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
