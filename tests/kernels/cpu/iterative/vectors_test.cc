// What the cpu backend promises of arithmetic and priors beyond their contracts: nothing depends on
// the number of threads, and neither margins nor padding matter or are touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/cpu/device/device.h"
#include "kernels/cpu/device/layout.h"
#include "kernels/cpu/device/simd_target.h"
#include "kernels/cpu/iterative/methods.h"

namespace isocenter::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Noise(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random() % 2048) / 1024 - 1;
  return values;
}

std::unique_ptr<ops::ProjectionStack> NoisyStack(ops::Session& session, Shape3 shape,
                                                 ops::StackUse use, uint32_t seed) {
  auto stack = *session.NewProjectionStack(shape, use);
  const std::vector<float> values = Noise(shape.count(), seed);
  EXPECT_TRUE(stack->Upload(0, {values.data(), shape}).ok());
  return stack;
}

// With NaN in its padding.
std::unique_ptr<ops::VolumeBuffer> NoisyVolume(ops::Session& session, const VolumeGrid& grid,
                                               uint32_t seed) {
  auto volume = *session.NewVolume(grid);
  auto& own = dynamic_cast<Volume&>(*volume);
  std::fill_n(own.data(), own.floats(), kNan);
  const std::vector<float> values = Noise(grid.voxels(), seed);
  EXPECT_TRUE(volume->Upload(0, {values.data(), grid.shape()}).ok());
  return volume;
}

std::vector<float> Values(const ops::VolumeBuffer& volume) {
  std::vector<float> values(static_cast<size_t>(volume.grid().voxels()));
  EXPECT_TRUE(volume.Download(0, {values.data(), volume.grid().shape()}).ok());
  return values;
}

constexpr Shape3 kShape{3, 21, 35};
const VolumeGrid kGrid = CenteredGrid(67, 41, 53, {0.5, 0.7, 1.1});

TEST(ArithmeticTest, LeavesTheMarginsOfProjectionsZero) {
  CpuDevice device({.threads = 2});
  const auto session = *device.NewSession();
  const auto arithmetic = *NewArithmetic(*session);
  const auto stack = NoisyStack(*session, kShape, ops::StackUse::kProjections, 1);
  ASSERT_TRUE(arithmetic->Fill(3, *stack).ok());
  ASSERT_TRUE(arithmetic->Exponential(-1, *stack).ok());
  ASSERT_TRUE(arithmetic->ClampBelow(2, *stack).ok());
  const auto rows = NoisyStack(*session, kShape, ops::StackUse::kLineIntegrals, 2);
  ASSERT_TRUE(arithmetic->Copy(*rows, *stack).ok());
  ASSERT_TRUE(arithmetic->Fill(2, *stack).ok());
  const auto& own = dynamic_cast<const Stack&>(*stack);
  double sum = 0;
  for (int64_t i = 0; i < ColumnLayout::Floats(kShape); ++i) sum += own.data()[i];
  EXPECT_EQ(sum, 2.0 * static_cast<double>(kShape.count()));
}

TEST(ArithmeticTest, CopiesBetweenUsesOfAStack) {
  CpuDevice device({.threads = 2});
  const auto session = *device.NewSession();
  const auto arithmetic = *NewArithmetic(*session);
  const auto rows = NoisyStack(*session, kShape, ops::StackUse::kLineIntegrals, 3);
  auto columns = *session->NewProjectionStack(kShape, ops::StackUse::kProjections);
  auto again = *session->NewProjectionStack(kShape, ops::StackUse::kLineIntegrals);
  ASSERT_TRUE(arithmetic->Copy(*rows, *columns).ok());
  ASSERT_TRUE(arithmetic->Copy(*columns, *again).ok());
  std::vector<float> got(static_cast<size_t>(kShape.count()));
  ASSERT_TRUE(again->Download(0, {got.data(), kShape}).ok());
  EXPECT_EQ(got, Noise(kShape.count(), 3));
  ASSERT_TRUE(columns->Download(0, {got.data(), kShape}).ok());
  EXPECT_EQ(got, Noise(kShape.count(), 3));
}

TEST(ArithmeticTest, RefusesVectorsThatDiffer) {
  CpuDevice device({.threads = 1});
  const auto session = *device.NewSession();
  const auto arithmetic = *NewArithmetic(*session);
  const auto volume = *session->NewVolume(kGrid);
  const auto rows = NoisyStack(*session, kShape, ops::StackUse::kLineIntegrals, 1);
  const auto columns = NoisyStack(*session, kShape, ops::StackUse::kProjections, 1);
  const auto fewer = NoisyStack(*session, {2, 21, 35}, ops::StackUse::kProjections, 1);
  EXPECT_EQ(arithmetic->Multiply(*rows, *columns).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arithmetic->Multiply(*fewer, *columns).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arithmetic->Copy(*volume, *columns).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arithmetic->Copy(*rows, *fewer).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arithmetic->Dot(*volume, *columns).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arithmetic->Dot(*columns, *columns, {20, 2}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// What must come out the same in every bit: sums, and what a chain of priors leaves.
struct Outcome {
  std::vector<double> sums;
  std::vector<float> values;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome Compute(int threads) {
  CpuDevice device({.threads = threads});
  const auto session = *device.NewSession();
  const auto arithmetic = *NewArithmetic(*session);
  const auto variation = *NewVariation(*session);
  const auto f = NoisyVolume(*session, kGrid, 1), g = NoisyVolume(*session, kGrid, 2);
  const auto px = NoisyVolume(*session, kGrid, 3), py = NoisyVolume(*session, kGrid, 4);
  const auto pz = NoisyVolume(*session, kGrid, 5);
  VolumeGrid slice = kGrid;
  slice.nz = 1;
  const auto below = NoisyVolume(*session, slice, 6), above = NoisyVolume(*session, slice, 7);
  const ops::NeighborSlices next{below.get(), above.get()};
  Outcome outcome;
  outcome.sums.push_back(*arithmetic->Dot(*f, *g));
  outcome.sums.push_back(*variation->TotalVariation(0.01, *f, next));
  outcome.sums.push_back(*variation->Huber(0.3, *f, next));
  EXPECT_TRUE(variation->AddTotalVariationGradient(0.7, 0.01, *f, next, *g).ok());
  EXPECT_TRUE(variation->AddHuberGradient(0.7, 0.3, *f, next, *g).ok());
  EXPECT_TRUE(variation->AscendDual(0.2, 0.5, *f, next, {px.get(), py.get(), pz.get()}).ok());
  EXPECT_TRUE(variation->AddDivergence(0.2, {px.get(), py.get(), pz.get()}, below.get(), *g).ok());
  outcome.values = Values(*g);
  return outcome;
}

TEST(VectorsTest, DoNotDependOnTheNumberOfThreadsNorOnPadding) {
  const Outcome one = Compute(1);
  for (const double sum : one.sums) EXPECT_TRUE(std::isfinite(sum)) << sum;
  for (const float value : one.values) ASSERT_TRUE(std::isfinite(value)) << value;
  EXPECT_TRUE(Compute(3) == one);
}

TEST(VectorsTest, SumsDoNotDependOnTheInstructionSet) {
  CpuDevice device({.threads = 1});
  const auto session = *device.NewSession();
  const auto f = NoisyVolume(*session, kGrid, 1), g = NoisyVolume(*session, kGrid, 2);
  ASSERT_TRUE((*NewArithmetic(*session))->Exponential(1.3, *g).ok());
  const double expected = *(*NewArithmetic(*session))->Dot(*f, *g);
  for (const std::string& target : SimdTargets()) {
    ASSERT_TRUE(ForceSimdTarget(target));
    EXPECT_EQ(*(*NewArithmetic(*session))->Dot(*f, *g), expected) << target;
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace isocenter::cpu
