#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

// One value of a cubic voxel's typical difference of noise is about 1; differences, squares, a root
// and a quotient round to 6e-8 each, and a gradient subtracts six such terms of about its size.
constexpr double kTolerance = 3e-6;
// Sums of as many voxels, in float32 for the terms at most.
constexpr double kSumTolerance = 1e-6;

std::vector<VolumeGrid> Grids() {
  return {CenteredGrid(1, 1, 1, {1, 1, 1}),      CenteredGrid(2, 1, 3, {1, 1, 1}),
          CenteredGrid(1, 9, 5, {1, 1, 1}),      CenteredGrid(16, 8, 9, {0.5, 0.5, 0.5}),
          CenteredGrid(37, 21, 13, {1, 1, 1}),   CenteredGrid(33, 17, 12, {0.7, 1.9, 2.6}),
          CenteredGrid(130, 11, 4, {1, 1, 0.4}), CenteredGrid(19, 35, 1, {1, 1, 1})};
}

// Slices [first, first + count) of a volume and those next to them.
struct Part {
  Part(ops::Session& session, const VolumeGrid& grid, const Array& values, int first, int count) {
    VolumeGrid slab = grid;
    slab.nz = count;
    slab.origin = grid.VoxelToWorld(0, 0, first);
    volume = NewVolume(session, slab);
    EXPECT_TRUE(volume->Upload(0, values.view().slices(first, count)).ok());
    slab.nz = 1;
    if (first > 0) {
      below = NewVolume(session, slab);
      EXPECT_TRUE(below->Upload(0, values.view().slices(first - 1, 1)).ok());
    }
    if (first + count < grid.nz) {
      above = NewVolume(session, slab);
      EXPECT_TRUE(above->Upload(0, values.view().slices(first + count, 1)).ok());
    }
  }
  ops::NeighborSlices neighbors() const { return {below.get(), above.get()}; }

  std::unique_ptr<ops::VolumeBuffer> volume, below, above;
};

class VariationTest : public testing::TestWithParam<Method> {
 protected:
  static std::unique_ptr<ops::Variation> On(ops::Session& session) {
    const bool reference = session.backend() == "reference";
    auto operation = (*AllMethods().variation.Find(reference ? "reference" : GetParam().backend,
                                                   reference ? "" : GetParam().name))(session);
    EXPECT_TRUE(operation.ok()) << operation.status();
    return *std::move(operation);
  }

  enum class Prior { kTotalVariation, kHuber };
  struct Result {
    Array gradient;
    double value = 0;
  };
  // Of noise from `seed`, in slabs of `height` slices.
  static Result Of(Prior prior, const std::string& backend, const VolumeGrid& grid, int height,
                   double parameter, int threads = 2) {
    const auto session = OpenSession(backend, threads);
    const auto variation = On(*session);
    const Array f = Noise(grid.shape(), 91), start = Noise(grid.shape(), 92);
    Result result{Array(grid.shape())};
    for (int first = 0; first < grid.nz; first += height) {
      const int count = std::min(height, grid.nz - first);
      const Part part(*session, grid, f, first, count),
          gradient(*session, grid, start, first, count);
      const bool total = prior == Prior::kTotalVariation;
      const absl::Status status =
          total ? variation->AddTotalVariationGradient(0.6, parameter, *part.volume,
                                                       part.neighbors(), *gradient.volume)
                : variation->AddHuberGradient(0.6, parameter, *part.volume, part.neighbors(),
                                              *gradient.volume);
      EXPECT_TRUE(status.ok()) << status;
      const absl::StatusOr<double> value =
          total ? variation->TotalVariation(parameter, *part.volume, part.neighbors())
                : variation->Huber(parameter, *part.volume, part.neighbors());
      EXPECT_TRUE(value.ok()) << value.status();
      result.value += value.value_or(0);
      const Array got = Downloaded(*gradient.volume);
      std::copy(got.values.begin(), got.values.end(), result.gradient.view().row(first, 0));
    }
    return result;
  }
  static void ExpectAgreement(Prior prior, double parameter) {
    for (const VolumeGrid& grid : Grids()) {
      const Result expected = Of(prior, "reference", grid, grid.nz, parameter);
      for (const int height : {grid.nz, 1, 3}) {
        SCOPED_TRACE(testing::Message() << grid.nx << "x" << grid.ny << "x" << grid.nz
                                        << " voxels in slabs of " << height);
        const Result got = Of(prior, GetParam().backend, grid, height, parameter);
        EXPECT_LT(Compare(got.gradient, expected.gradient).largest, kTolerance);
        EXPECT_NEAR(got.value, expected.value, kSumTolerance * expected.value);
        for (const int threads : {1, 3}) {
          const Result again = Of(prior, GetParam().backend, grid, height, parameter, threads);
          EXPECT_EQ(again.gradient.values, got.gradient.values);
          EXPECT_EQ(again.value, got.value);
        }
      }
    }
  }

  using Field = std::array<Array, 3>;
  static Field NoiseField(const VolumeGrid& grid) {
    Field field{Noise(grid.shape(), 93), Noise(grid.shape(), 94), Noise(grid.shape(), 95)};
    // 0 where a component points out of the volume.
    const Shape3 n = grid.shape();
    for (int64_t k = 0; k < n.slow; ++k) {
      for (int64_t j = 0; j < n.middle; ++j) field[0].view()(k, j, n.fast - 1) = 0;
      for (int64_t i = 0; i < n.fast; ++i) field[1].view()(k, n.middle - 1, i) = 0;
    }
    std::fill_n(field[2].view().row(n.slow - 1, 0), n.middle * n.fast, 0.0f);
    return field;
  }
  // The dual after a step, in slabs.
  static Field Ascended(const std::string& backend, const VolumeGrid& grid, int height, double step,
                        double bound) {
    const auto session = OpenSession(backend);
    const Array f = Noise(grid.shape(), 91);
    Field field = NoiseField(grid);
    for (int first = 0; first < grid.nz; first += height) {
      const int count = std::min(height, grid.nz - first);
      const Part part(*session, grid, f, first, count);
      const Part x(*session, grid, field[0], first, count),
          y(*session, grid, field[1], first, count), z(*session, grid, field[2], first, count);
      const absl::Status status =
          On(*session)->AscendDual(step, bound, *part.volume, part.neighbors(),
                                   {x.volume.get(), y.volume.get(), z.volume.get()});
      EXPECT_TRUE(status.ok()) << status;
      const Part* const parts[] = {&x, &y, &z};
      for (int axis = 0; axis < 3; ++axis) {
        const Array got = Downloaded(*parts[axis]->volume);
        std::copy(got.values.begin(), got.values.end(), field[axis].view().row(first, 0));
      }
    }
    return field;
  }
  static Array WithDivergence(const std::string& backend, const VolumeGrid& grid, int height) {
    const auto session = OpenSession(backend);
    const Field field = NoiseField(grid);
    Array f = Noise(grid.shape(), 91);
    for (int first = 0; first < grid.nz; first += height) {
      const int count = std::min(height, grid.nz - first);
      const Part x(*session, grid, field[0], first, count),
          y(*session, grid, field[1], first, count), z(*session, grid, field[2], first, count),
          part(*session, grid, f, first, count);
      const absl::Status status = On(*session)->AddDivergence(
          0.8, {x.volume.get(), y.volume.get(), z.volume.get()}, z.below.get(), *part.volume);
      EXPECT_TRUE(status.ok()) << status;
      const Array got = Downloaded(*part.volume);
      std::copy(got.values.begin(), got.values.end(), f.view().row(first, 0));
    }
    return f;
  }
};

TEST(VariationMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().variation).empty());
}

TEST_P(VariationTest, TotalVariationAgreesWithReference) {
  ExpectAgreement(Prior::kTotalVariation, 0.3);
}

TEST_P(VariationTest, TotalVariationWithoutSmoothing) {
  const VolumeGrid grid = CenteredGrid(37, 21, 13, {1, 1.2, 0.8});
  const auto session = OpenSession(GetParam().backend), reference = OpenSession("reference");
  const Array f = Noise(grid.shape(), 91);
  const Part part(*session, grid, f, 0, grid.nz), expected(*reference, grid, f, 0, grid.nz);
  const auto got = On(*session)->TotalVariation(0, *part.volume, {});
  const auto want = On(*reference)->TotalVariation(0, *expected.volume, {});
  ASSERT_TRUE(got.ok() && want.ok()) << got.status() << want.status();
  EXPECT_NEAR(*got, *want, kSumTolerance * *want);
}

TEST_P(VariationTest, HuberAgreesWithReference) {
  ExpectAgreement(Prior::kHuber, 0.4);  // of noise, about a third of the differences is below
}

TEST_P(VariationTest, HuberOfLargeDeltaIsQuadratic) { ExpectAgreement(Prior::kHuber, 100); }

TEST_P(VariationTest, DualAgreesWithReference) {
  for (const VolumeGrid& grid : Grids()) {
    for (const double bound : {0.5, 100.0}) {
      const Field expected = Ascended("reference", grid, grid.nz, 0.7, bound);
      for (const int height : {grid.nz, 1, 3}) {
        SCOPED_TRACE(testing::Message() << grid.nx << "x" << grid.ny << "x" << grid.nz
                                        << " voxels in slabs of " << height);
        const Field got = Ascended(GetParam().backend, grid, height, 0.7, bound);
        for (int axis = 0; axis < 3; ++axis) {
          if (std::all_of(expected[axis].values.begin(), expected[axis].values.end(),
                          [](float value) { return value == 0; })) {
            EXPECT_EQ(got[axis].values, expected[axis].values);
          } else {
            EXPECT_LT(Compare(got[axis], expected[axis]).largest, kTolerance);
          }
        }
      }
    }
  }
}

TEST_P(VariationTest, DivergenceAgreesWithReference) {
  for (const VolumeGrid& grid : Grids()) {
    const Array expected = WithDivergence("reference", grid, grid.nz);
    for (const int height : {grid.nz, 1, 3}) {
      SCOPED_TRACE(testing::Message() << grid.nx << "x" << grid.ny << "x" << grid.nz
                                      << " voxels in slabs of " << height);
      EXPECT_LT(Compare(WithDivergence(GetParam().backend, grid, height), expected).largest,
                kTolerance);
    }
  }
}

// ⟨∇f, p⟩ = -⟨f, div p⟩, with p so small that nothing is clipped.
TEST_P(VariationTest, DivergenceIsTheNegativeAdjointOfTheGradient) {
  const VolumeGrid grid = CenteredGrid(33, 17, 12, {0.7, 1.9, 2.6});
  const Array f = Noise(grid.shape(), 91),
              with_divergence = WithDivergence(GetParam().backend, grid, grid.nz);
  const Field p = NoiseField(grid);
  const Field ascended = Ascended(GetParam().backend, grid, grid.nz, 1, 1e6);
  double gradient_by_p = 0, f_by_divergence = 0;
  for (size_t i = 0; i < f.values.size(); ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      gradient_by_p += (double{ascended[axis].values[i]} - double{p[axis].values[i]}) *
                       double{p[axis].values[i]};
    }
    f_by_divergence +=
        double{f.values[i]} * (double{with_divergence.values[i]} - double{f.values[i]}) / 0.8;
  }
  EXPECT_NEAR(gradient_by_p, -f_by_divergence, 1e-2);
  EXPECT_GT(std::abs(gradient_by_p), 10);
}

TEST_P(VariationTest, RefusesWrongArguments) {
  const auto session = OpenSession(GetParam().backend), reference = OpenSession("reference");
  const auto v = On(*session);
  const auto f = NewVolume(*session, CenteredGrid(5, 6, 7, {1, 1, 1}));
  const auto other = NewVolume(*session, CenteredGrid(5, 6, 8, {1, 1, 1}));
  const auto slice = NewVolume(*session, CenteredGrid(5, 6, 1, {1, 1, 1}));
  const auto narrow = NewVolume(*session, CenteredGrid(4, 6, 1, {1, 1, 1}));
  const auto foreign = NewVolume(*reference, f->grid());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ops::VectorField<ops::VolumeBuffer> p{f.get(), f.get(), f.get()};
  const ops::VectorField<const ops::VolumeBuffer> q{f.get(), f.get(), f.get()};
  EXPECT_TRUE(v->TotalVariation(1, *f, {slice.get(), slice.get()}).ok());
  for (const absl::Status& status :
       {v->AddTotalVariationGradient(1, 0, *f, {}, *f), v->TotalVariation(-1, *f, {}).status(),
        v->AddTotalVariationGradient(1, 1, *f, {}, *other),
        v->AddTotalVariationGradient(1, 1, *f, {narrow.get(), nullptr}, *f),
        v->AddTotalVariationGradient(1, 1, *f, {nullptr, other.get()}, *f),
        v->AddTotalVariationGradient(1, 1, *foreign, {}, *f),
        v->AddTotalVariationGradient(1, nan, *f, {}, *f),
        v->TotalVariation(1, *f, {nullptr, foreign.get()}).status(),
        v->AddHuberGradient(1, 1, *f, {}, *other), v->AddHuberGradient(1, 1, *f, {}, *foreign),
        v->Huber(1, *foreign, {}).status(), v->Huber(1, *f, {narrow.get(), nullptr}).status(),
        v->AscendDual(1, 0, *f, {}, p), v->AscendDual(1, 1, *other, {}, p),
        v->AscendDual(1, 1, *f, {}, {f.get(), foreign.get(), f.get()}),
        v->AscendDual(1, 1, *f, {nullptr, narrow.get()}, p),
        v->AddDivergence(1, q, nullptr, *other), v->AddDivergence(1, q, narrow.get(), *f),
        v->AddDivergence(1, q, nullptr, *foreign)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, VariationTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().variation)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
