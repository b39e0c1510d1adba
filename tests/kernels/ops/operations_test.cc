// What every operation asks of its arguments, whatever the backend: what is refused never reaches
// it.
#include "kernels/ops/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace isocenter::ops {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

class FakeStack final : public ProjectionStack {
 public:
  FakeStack(Shape3 shape, StackUse use) : shape_(shape), use_(use) {}
  const Shape3& shape() const override { return shape_; }
  StackUse use() const override { return use_; }
  int64_t bytes() const override { return 0; }
  absl::Status Reshape(Shape3) override { return absl::OkStatus(); }
  absl::Status Upload(int64_t, HostView3<const float>) override { return absl::OkStatus(); }
  absl::Status Download(int64_t, HostView3<float>) const override { return absl::OkStatus(); }

 private:
  const Shape3 shape_;
  const StackUse use_;
};

class FakeVolume final : public VolumeBuffer {
 public:
  explicit FakeVolume(const VolumeGrid& grid) : grid_(grid) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return 0; }
  absl::Status Clear() override { return absl::OkStatus(); }
  absl::Status Regrid(const VolumeGrid&) override { return absl::OkStatus(); }
  absl::Status Upload(int64_t, HostView3<const float>) override { return absl::OkStatus(); }
  absl::Status Download(int64_t, HostView3<float>) const override { return absl::OkStatus(); }

 private:
  const VolumeGrid grid_;
};

class FakePreprocess final : public Preprocess {
 public:
  int runs = 0;

 private:
  absl::Status DoRun(const RawFrames&, const CountRange&, std::span<const ViewWeights>, int64_t,
                     ProjectionStack&) override {
    ++runs;
    return absl::OkStatus();
  }
  absl::Status DoWeigh(const ProjectionStack&, int64_t, RowRange, std::span<const ViewWeights>,
                       int64_t, ProjectionStack&) override {
    ++runs;
    return absl::OkStatus();
  }
};

class FakeBackproject final : public Backproject {
 public:
  int runs = 0;

 private:
  absl::Status DoRun(std::span<const ProjectionMatrix>, const ProjectionStack&,
                     VolumeBuffer&) override {
    ++runs;
    return absl::OkStatus();
  }
};

class FakeToHounsfield final : public ToHounsfield {
 public:
  int runs = 0;

 private:
  absl::Status DoRun(const HounsfieldScale&, VolumeBuffer&) override {
    ++runs;
    return absl::OkStatus();
  }
};

void ExpectRefused(const absl::Status& status, const char* words) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(status.message(), HasSubstr(words));
}

const VolumeGrid kGrid = CenteredGrid(3, 4, 5, {1, 1, 1});
constexpr Shape3 kShape{2, 3, 4};

TEST(Preprocess, SaysWhatItRefusesAndWhatIsLegal) {
  FakePreprocess operation;
  FakeStack lines(kShape, StackUse::kLineIntegrals), projections(kShape, StackUse::kProjections);
  const std::vector<uint16_t> counts(kShape.count());
  const std::vector<float> integrals(kShape.count()), columns(4);
  const RawFrames raw{.counts = {counts.data(), kShape}};
  std::vector<ViewWeights> weights(2, ViewWeights{.column_weight = columns});
  ASSERT_TRUE(operation.Run(raw, {}, weights, lines).ok());
  EXPECT_EQ(operation.runs, 1);

  ExpectRefused(operation.Run({}, {}, weights, lines), "neither counts and line integrals");
  ExpectRefused(operation.Run({.counts = raw.counts, .line_integrals = {integrals.data(), kShape}},
                              {}, weights, lines),
                "both counts and line integrals; legal is one of them");
  ExpectRefused(operation.Run(raw, {}, weights, projections), "not made for line integrals");
  ExpectRefused(operation.Run(raw.views(0, 1), {}, weights, lines), "2 view weights for 1 frames");
  ExpectRefused(operation.Run(raw, {.i0 = 0}, weights, lines), "i0 is 0; legal is");
  ExpectRefused(operation.Run(raw, {.lowest = -1}, weights, lines), "lowest count is -1; legal is");
  // They belong to counts.
  EXPECT_TRUE(
      operation.Run({.line_integrals = {integrals.data(), kShape}}, {.i0 = 0}, weights, lines)
          .ok());
  weights[1].column_weight = std::span(columns).first(3);
  ExpectRefused(operation.Run(raw, {}, weights, lines), "view 1 has 3 column weights; legal is 4");
  weights[1] = weights[0];
  weights[1].matrix.m[7] = kInfinite;
  ExpectRefused(operation.Run(raw, {}, weights, lines), "matrix of view 1 has the value inf");
  EXPECT_EQ(operation.runs, 2);
}

TEST(Backproject, SaysWhatItRefusesAndWhatIsLegal) {
  FakeBackproject operation;
  const FakeStack lines(kShape, StackUse::kLineIntegrals), stack(kShape, StackUse::kProjections);
  FakeVolume volume(kGrid);
  std::vector<ProjectionMatrix> matrices(3);
  EXPECT_TRUE(operation.Run(std::span(matrices).first(2), stack, volume).ok());
  EXPECT_TRUE(operation.Run({}, stack, volume).ok());
  ExpectRefused(operation.Run(matrices, stack, volume),
                "3 matrices for a stack of views; legal is 0 to 2");
  ExpectRefused(operation.Run({}, lines, volume), "not made for projections");
  matrices[0].m[0] = kInfinite;
  ExpectRefused(operation.Run(std::span(matrices).first(1), stack, volume),
                "legal is what is finite");
  EXPECT_EQ(operation.runs, 2);
}

TEST(ToHounsfield, WantsAnAttenuationOfWater) {
  FakeToHounsfield operation;
  FakeVolume volume(kGrid);
  EXPECT_TRUE(operation.Run({.mu_water_per_mm = 0.02}, volume).ok());
  for (const double mu : {0.0, -0.02, kInfinite, std::numeric_limits<double>::quiet_NaN()}) {
    ExpectRefused(operation.Run({.mu_water_per_mm = mu}, volume), "mu_water_per_mm is ");
  }
  ExpectRefused(operation.Run({.table = {{{0, 0}}}}, volume), "points of the HU table is 1");
  EXPECT_EQ(operation.runs, 1);
}

TEST(CheckRampFilter, NamesPixelsAndCutOff) {
  EXPECT_TRUE(CheckRampFilter({.rows = 1, .columns = 65536}).ok());
  ExpectRefused(CheckRampFilter({.rows = 0, .columns = 4}), "4 x 0 pixels; legal is 1 to 65536");
  ExpectRefused(CheckRampFilter({.rows = 4, .columns = 65537}), "65537 x 4");
  for (const double cutoff : {0.0, 1.01}) {
    ExpectRefused(CheckRampFilter({.rows = 4, .columns = 4, .cutoff = cutoff}), "cut-off ");
  }
}

// Beyond a table's points, at them and between, with two points, many, and none.
TEST(AttenuationHinges, AreTheAttenuationOfHounsfieldUnits) {
  for (const HounsfieldTable& table :
       {HounsfieldTable{}, HounsfieldTable{{{-990, -1000}, {20, 0}}},
        HounsfieldTable{{{-1000, -1000}, {0, 5}, {300, 900}, {1500, 1400}}}}) {
    const HounsfieldScale scale{.mu_water_per_mm = 0.0193, .table = table};
    const HounsfieldHinges hinges = AttenuationHinges(scale);
    for (double hu = -1200; hu < 3000; hu += 12.5) {
      double value = hinges.offset + double{hinges.slope} * hu;
      for (int k = 0; k < hinges.count; ++k) {
        value += hinges.turn[k] * std::max(0.0, hu - hinges.at[k]);
      }
      EXPECT_NEAR(value, AttenuationOf(scale, hu), 1e-7) << hu;
      EXPECT_NEAR(HounsfieldOf(scale, value), hu, 0.01);
    }
  }
}

}  // namespace
}  // namespace isocenter::ops
