// The reference backend against cases small enough to compute by hand. Every other backend is held
// against it, so nothing here may be taken from the code under test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/geometry/volume_grid.h"
#include "tests/kernels/reference/reference_backend.h"
#include "tests/opened_session.h"

namespace isocenter {
namespace {

using ops::StackUse;
using ::testing::HasSubstr;

using Reference = ReferenceBackend;

// Source 2 mm in front of the isocentre along x, detector 4 mm from the source with 1 mm pixels:
// u = 1 + 4·y/(2 - x), v = 1 + 4·z/(2 - x), w = (2 - x)/2.
const ProjectionMatrix kSimple{{-0.5, 2, 0, 1, -0.5, 0, 2, 1, -0.5, 0, 0, 1}};

TEST_F(Reference, BackprojectsOneVoxelByHand) {
  // Voxel centre (1, 0.1, -0.05): w = 0.5, u = 1.4, v = 0.8.
  const VolumeGrid grid{.nx = 1, .ny = 1, .nz = 1, .origin = {1, 0.1, -0.05}};
  auto stack = Filled(Shape3{1, 3, 3}, {0, 1, 2, 10, 11, 12, 20, 21, 22}, StackUse::kProjections);
  auto volume = *session_->NewVolume(grid);
  auto op = *(*registry_.backproject.Find("reference"))(*session_);
  ASSERT_TRUE(op->Run(std::span(&kSimple, 1), *stack, *volume).ok());
  float value = 0;
  ASSERT_TRUE(volume->Download(0, HostView3<float>(&value, {1, 1, 1})).ok());
  // Pixel values are 10·row + column, so bilinear interpolation gives 10·0.8 + 1.4 = 9.4; w⁻² = 4.
  EXPECT_FLOAT_EQ(value, 37.6f);
  // A second run accumulates.
  ASSERT_TRUE(op->Run(std::span(&kSimple, 1), *stack, *volume).ok());
  ASSERT_TRUE(volume->Download(0, HostView3<float>(&value, {1, 1, 1})).ok());
  EXPECT_FLOAT_EQ(value, 75.2f);
}

TEST_F(Reference, FallsToZeroWithinOnePixelOutside) {
  auto op = *(*registry_.backproject.Find("reference"))(*session_);
  auto stack = Filled(Shape3{1, 3, 3}, std::vector<float>(9, 1), StackUse::kProjections);
  const auto at = [&](Vec3 point) {
    auto volume = *session_->NewVolume({.nx = 1, .ny = 1, .nz = 1, .origin = point});
    EXPECT_TRUE(op->Run(std::span(&kSimple, 1), *stack, *volume).ok());
    float value = -1;
    EXPECT_TRUE(volume->Download(0, HostView3<float>(&value, {1, 1, 1})).ok());
    return value;
  };
  EXPECT_FLOAT_EQ(at({0, 0.5, 0}), 1.0f);     // u = 2: the last pixel centre
  EXPECT_FLOAT_EQ(at({0, 0.625, 0}), 0.75f);  // u = 2.25
  EXPECT_FLOAT_EQ(at({0, 1.0, 0}), 0.0f);     // u = 3
  EXPECT_FLOAT_EQ(at({0, -0.75, 0}), 0.5f);   // u = -0.5
  EXPECT_FLOAT_EQ(at({3, 0, 0}), 0.0f);       // behind the source
}

TEST_F(Reference, PreprocessTakesLogarithmCosineAndWeight) {
  auto out = *session_->NewProjectionStack({1, 1, 3}, StackUse::kLineIntegrals);
  auto op = *(*registry_.preprocess.Find("reference"))(*session_);
  const uint16_t counts[] = {0, 368, 2000};
  const float weight[] = {1, 2, 3};
  const ops::ViewWeights view{.matrix = kSimple, .column_weight = weight};
  ASSERT_TRUE(op->Run({.counts = HostView3<const uint16_t>(counts, {1, 1, 3})},
                      {.i0 = 1000, .lowest = 1}, std::span(&view, 1), *out)
                  .ok());
  const auto values = Values(*out);
  // Principal point (1, 1), 4 pixels from source to detector: cosine of pixel (u, 0) is 4/√(16 +
  // (u-1)² + 1).
  EXPECT_NEAR(values[0], std::log(1000.0) * 4 / std::sqrt(18.0), 1e-6);
  EXPECT_NEAR(values[1], -std::log(0.368) * 4 / std::sqrt(17.0) * 2, 1e-6);
  EXPECT_NEAR(values[2], -std::log(2.0) * 4 / std::sqrt(18.0) * 3, 1e-6);
}

TEST_F(Reference, PreprocessReplacesLineIntegralsThatAreNotFinite) {
  auto out = *session_->NewProjectionStack({1, 1, 3}, StackUse::kLineIntegrals);
  auto op = *(*registry_.preprocess.Find("reference"))(*session_);
  const float line[] = {std::numeric_limits<float>::quiet_NaN(), 1,
                        std::numeric_limits<float>::infinity()};
  const float weight[] = {1, 1, 1};
  const ops::ViewWeights view{.matrix = kSimple, .column_weight = weight};
  ASSERT_TRUE(op->Run({.line_integrals = HostView3<const float>(line, {1, 1, 3})}, {},
                      std::span(&view, 1), *out)
                  .ok());
  const auto values = Values(*out);
  EXPECT_EQ(values[0], 0);
  EXPECT_NEAR(values[1], 4 / std::sqrt(17.0), 1e-6);
  EXPECT_EQ(values[2], 0);
}

TEST_F(Reference, FiltersAnImpulseIntoTheKernel) {
  const ops::RampFilterSpec spec{.rows = 2, .columns = 5};
  auto in = Filled(Shape3{1, 2, 5}, {0, 0, 1, 0, 0, 0, 0, 0, 0, 2}, StackUse::kLineIntegrals);
  auto out = *session_->NewProjectionStack({1, 2, 5}, StackUse::kProjections);
  auto op = *(*registry_.ramp_filter.Find("reference"))(*session_, spec);
  ASSERT_TRUE(op->Run(1, *in, *out).ok());
  const auto values = Values(*out);
  const float one = -1 / (M_PI * M_PI), three = one / 9;
  const float expected[] = {0, one, 0.25f, one, 0, 0, 2 * three, 0, 2 * one, 0.5f};
  for (int i = 0; i < 10; ++i) EXPECT_FLOAT_EQ(values[i], expected[i]) << i;
}

TEST_F(Reference, ExtensionMirrorsAndFades) {
  // A constant row of 4: two extension values per side, fades (1+cos(π/3))/2 = 3/4 and
  // (1+cos(2π/3))/2 = 1/4.
  const ops::RampFilterSpec spec{.rows = 1, .columns = 4, .truncation = ops::Truncation::kMirror};
  auto in = Filled(Shape3{1, 1, 4}, {1, 1, 1, 1}, StackUse::kLineIntegrals);
  auto out = *session_->NewProjectionStack({1, 1, 4}, StackUse::kProjections);
  auto op = *(*registry_.ramp_filter.Find("reference"))(*session_, spec);
  ASSERT_TRUE(op->Run(1, *in, *out).ok());
  const double h1 = -1 / (M_PI * M_PI), h3 = h1 / 9, h5 = h1 / 25;
  // Pixel 0 sees the extended row (1/4, 3/4, 1, 1, 1, 1, 3/4, 1/4) at distances 2, 1, 0, 1, 2, 3,
  // 4, 5.
  EXPECT_NEAR(Values(*out)[0], 0.25 + h1 * (0.75 + 1) + h3 * 1 + h5 * 0.25, 1e-6);
}

// `columns` of the shadow of a cylinder of radius 20 whose axis is seen at the column `axis`.
std::vector<float> Shadow(int columns, double axis) {
  std::vector<float> row(columns);
  for (int u = 0; u < columns; ++u) {
    row[u] = static_cast<float>(std::sqrt(std::max(0.0, 400 - (u - axis) * (u - axis))));
  }
  return row;
}

std::vector<float> Filtered(const ops::Registry& registry, ops::Session& session,
                            const std::vector<float>& row, ops::Truncation truncation) {
  const auto columns = static_cast<int>(row.size());
  auto in = *session.NewProjectionStack({1, 1, columns}, StackUse::kLineIntegrals);
  EXPECT_TRUE(in->Upload(0, HostView3<const float>(row.data(), {1, 1, columns})).ok());
  auto out = *session.NewProjectionStack({1, 1, columns}, StackUse::kProjections);
  auto op = *(*registry.ramp_filter.Find("reference"))(
      session, {.rows = 1, .columns = columns, .truncation = truncation});
  EXPECT_TRUE(op->Run(1, *in, *out).ok());
  std::vector<float> filtered(columns);
  EXPECT_TRUE(out->Download(0, HostView3<float>(filtered.data(), {1, 1, columns})).ok());
  return filtered;
}

std::vector<float> FilteredShadow(const ops::Registry& registry, ops::Session& session, int columns,
                                  double axis, ops::Truncation truncation) {
  return Filtered(registry, session, Shadow(columns, axis), truncation);
}

TEST_F(Reference, ACylinderGoesOnAsItIs) {
  const auto whole = FilteredShadow(registry_, *session_, 61, 30.4, ops::Truncation::kNone);
  // Columns 15 to 44 of it: five and six columns of the shadow lie beyond its edges. Rows are
  // float32, whose rounding the square root enlarges where the shadow ends.
  const auto cut = FilteredShadow(registry_, *session_, 30, 15.4, ops::Truncation::kCylinder);
  const auto mirrored = FilteredShadow(registry_, *session_, 30, 15.4, ops::Truncation::kMirror);
  double mirrored_error = 0;
  for (int u = 0; u < 30; ++u) {
    EXPECT_NEAR(cut[u], whole[15 + u], 5e-6) << u;
    mirrored_error = std::max(mirrored_error, std::abs(double{mirrored[u]} - whole[15 + u]));
  }
  EXPECT_GT(mirrored_error, 0.01);
}

// The outermost pixel says that the row rises, the rest where it ends. By the edge's own fit alone
// 0.147 is missed, by a mirror 0.116.
TEST_F(Reference, BoneAlongTheEdgeDoesNotMoveTheSkin) {
  std::vector<float> whole = Shadow(61, 30.5), cut = Shadow(34, 16.5);
  for (float* edge : {&cut.front(), &cut.back()}) *edge *= 1.2F;
  for (const int edge : {14, 47}) whole[edge] *= 1.2F;
  const auto truth = Filtered(registry_, *session_, whole, ops::Truncation::kNone);
  const auto extended = Filtered(registry_, *session_, cut, ops::Truncation::kCylinder);
  // But for the two pixels beside the edge, where bone that ends is not bone that goes on.
  for (int u = 2; u < 32; ++u) EXPECT_NEAR(extended[u], truth[14 + u], 0.05) << u;
}

TEST_F(Reference, WithoutWaterAtTheEdgeNothingGoesOn) {
  for (const ops::Truncation truncation : {ops::Truncation::kCylinder, ops::Truncation::kAtract}) {
    const auto plain = FilteredShadow(registry_, *session_, 61, 30, ops::Truncation::kNone);
    const auto same = FilteredShadow(registry_, *session_, 61, 30, truncation);
    for (int u = 0; u < 61; ++u) EXPECT_NEAR(same[u], plain[u], 2e-6) << u;
  }
}

TEST_F(Reference, HounsfieldOfWaterAirAndRubbish) {
  auto volume = *session_->NewVolume({.nx = 3, .ny = 1, .nz = 1});
  const float mu[] = {0.02f, 0, std::numeric_limits<float>::infinity()};
  ASSERT_TRUE(volume->Upload(0, HostView3<const float>(mu, {1, 1, 3})).ok());
  auto op = *(*registry_.to_hounsfield.Find("reference"))(*session_);
  ASSERT_TRUE(op->Run({.mu_water_per_mm = 0.02}, *volume).ok());
  float hounsfield[3];
  ASSERT_TRUE(volume->Download(0, HostView3<float>(hounsfield, {1, 1, 3})).ok());
  EXPECT_NEAR(hounsfield[0], 0, 1e-3);  // 0.02f is not 0.02
  EXPECT_FLOAT_EQ(hounsfield[1], -1000);
  EXPECT_FLOAT_EQ(hounsfield[2], -1000);
}

TEST_F(Reference, RefusesStacksOfAnotherUseAndVolumesBeyondTheLimit) {
  auto stack = *session_->NewProjectionStack({1, 2, 2}, StackUse::kLineIntegrals);
  auto volume = *session_->NewVolume({.nx = 1, .ny = 1, .nz = 1});
  auto op = *(*registry_.backproject.Find("reference"))(*session_);
  const absl::Status status = op->Run(std::span(&kSimple, 1), *stack, *volume);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("not made for projections"));
  const auto small = *OpenSession(registry_, "reference", {.memory_bytes = 63});
  EXPECT_EQ(small->NewVolume({.nx = 2, .ny = 2, .nz = 2}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace isocenter
