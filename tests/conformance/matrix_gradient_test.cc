#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/conformance.h"
#include "tests/conformance/geometries.h"

namespace isocenter::conformance {
namespace {

using Slopes = std::vector<ops::MatrixSlope>;

Slopes SlopesOf(const std::string& backend, const std::string& method,
                const BackprojectCase& geometry, const Array& projections,
                const Array& volume_slopes, int threads = 2) {
  const auto session = OpenSession(backend, threads);
  const auto factory = AllMethods().matrix_gradient.Find(backend, method);
  EXPECT_TRUE(factory.ok()) << factory.status();
  const auto operation = (*factory)(*session);
  EXPECT_TRUE(operation.ok()) << operation.status();
  const auto stack = NewStack(*session, projections.shape, ops::StackUse::kProjections);
  EXPECT_TRUE(stack->Upload(0, projections.view()).ok());
  const auto volume = NewVolume(*session, geometry.grid);
  EXPECT_TRUE(volume->Upload(0, volume_slopes.view()).ok());
  Slopes slopes(geometry.matrices.size());
  const absl::Status status = (*operation)->Run(geometry.matrices, *stack, *volume, slopes);
  EXPECT_TRUE(status.ok()) << status;
  return slopes;
}

// Σ f·s of the volume f that the matrices make.
double Criterion(const BackprojectCase& geometry, const Array& projections, const Array& slopes) {
  const auto session = OpenSession("reference", 1);
  const auto operation = (*AllMethods().backproject.Find("reference"))(*session);
  const auto stack = NewStack(*session, projections.shape, ops::StackUse::kProjections);
  EXPECT_TRUE(stack->Upload(0, projections.view()).ok());
  const auto volume = NewVolume(*session, geometry.grid);
  EXPECT_TRUE((*operation)->Run(geometry.matrices, *stack, *volume).ok());
  const Array made = Downloaded(*volume);
  double sum = 0;
  for (size_t i = 0; i < made.values.size(); ++i) {
    sum += static_cast<double>(made.values[i]) * slopes.values[i];
  }
  return sum;
}

// Straight lines across the pixels, which bilinear samples follow, with a bend to them and nothing
// at the edges: what finite differences of a smooth function are compared with.
Array Smooth(Shape3 shape) {
  Array made(shape);
  for (int64_t view = 0; view < shape.slow; ++view) {
    for (int64_t v = 0; v < shape.middle; ++v) {
      for (int64_t u = 0; u < shape.fast; ++u) {
        made.view()(view, v, u) = static_cast<float>(
            std::sin(0.11 * static_cast<double>(u) + 0.3 * static_cast<double>(view)) *
            std::cos(0.07 * static_cast<double>(v)));
      }
    }
  }
  return made;
}

TEST(MatrixGradientMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().matrix_gradient).empty());
}

// The reference itself, against differences of the reference's back-projection.
TEST(MatrixGradientReference, IsTheDerivativeOfTheBackprojection) {
  Shape3 detector{2, 61, 73};
  BackprojectCase geometry{.name = "small",
                           .detector = detector,
                           .matrices = CArmMatrices(2, detector, 1.1, 0.02, 0.03),
                           .grid = Rotated(CenteredGrid(11, 9, 7, {2.1, 2.5, 3.1}), 0.3)};
  geometry.grid.origin = geometry.grid.origin + Vec3{1.5, -2, 0.7};
  const Array projections = Smooth(detector);
  const Array slopes = Noise(geometry.grid.shape(), 41);
  const Slopes got = SlopesOf("reference", "", geometry, projections, slopes);
  for (size_t view = 0; view < geometry.matrices.size(); ++view) {
    for (int element = 0; element < 12; ++element) {
      // A thousandth of a pixel: bilinear samples bend where they pass a pixel's centre.
      const double step = 1e-3 / (element % 4 == 3 ? 1 : 10) / (element < 8 ? 1 : 50);
      BackprojectCase more = geometry, less = geometry;
      more.matrices[view].m[element] += step;
      less.matrices[view].m[element] -= step;
      const double expected =
          (Criterion(more, projections, slopes) - Criterion(less, projections, slopes)) /
          (2 * step);
      double scale = 0;
      for (int k = element / 4 * 4; k < element / 4 * 4 + 4; ++k) {
        scale = std::max(scale, std::abs(got[view][k]));
      }
      EXPECT_NEAR(got[view][element], expected, 0.01 * scale) << view << ", " << element;
    }
  }
}

class MatrixGradientTest : public testing::TestWithParam<Method> {};

// Bilinear samples have no derivative where a voxel is seen by the very centre of a pixel, as whole
// planes of a symmetric grid are: these lie beside them.
std::vector<BackprojectCase> CasesBesidePixels() {
  std::vector<BackprojectCase> cases = BackprojectCases();
  for (BackprojectCase& geometry : cases) {
    geometry.grid.origin = geometry.grid.VoxelToWorld(0.137, 0.211, 0.173);
  }
  return cases;
}

void ExpectAgreement(const Method& method, const BackprojectCase& geometry,
                     const Array& projections, double tolerance) {
  SCOPED_TRACE(geometry.name);
  const Array slopes = Noise(geometry.grid.shape(), 43);
  const Slopes expected = SlopesOf("reference", "", geometry, projections, slopes);
  const Slopes got = SlopesOf(method.backend, method.name, geometry, projections, slopes);
  for (int element = 0; element < 12; ++element) {
    double square = 0, error = 0;
    for (size_t view = 0; view < expected.size(); ++view) {
      square += expected[view][element] * expected[view][element];
      error += std::pow(got[view][element] - expected[view][element], 2);
    }
    EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(square)) << element;
  }
}

// In float32 positions are wrong by up to some 1e-5 pixels, and one voxel in 1e4 falls to the other
// side of a pixel's centre, where noise has another slope: of sums of slopes of any sign the root
// of that is wrong.
TEST_P(MatrixGradientTest, AgreesWithReferenceOnNoise) {
  for (const BackprojectCase& geometry : CasesBesidePixels()) {
    ExpectAgreement(GetParam(), geometry, Noise(geometry.detector, 42), 2e-2);
  }
}

// There slopes of neighbours differ by a tenth.
TEST_P(MatrixGradientTest, AgreesWithReferenceOnWaves) {
  for (const BackprojectCase& geometry : CasesBesidePixels()) {
    ExpectAgreement(GetParam(), geometry, Smooth(geometry.detector), 2e-3);
  }
}

TEST_P(MatrixGradientTest, IsReproducible) {
  for (const BackprojectCase& geometry : BackprojectCases()) {
    SCOPED_TRACE(geometry.name);
    const Array projections = Noise(geometry.detector, 44);
    const Array slopes = Noise(geometry.grid.shape(), 45);
    const Slopes one =
        SlopesOf(GetParam().backend, GetParam().name, geometry, projections, slopes, 1);
    EXPECT_EQ(SlopesOf(GetParam().backend, GetParam().name, geometry, projections, slopes, 3), one);
  }
}

TEST_P(MatrixGradientTest, RefusesWrongArguments) {
  const auto session = OpenSession(GetParam().backend);
  const auto operation =
      (*AllMethods().matrix_gradient.Find(GetParam().backend, GetParam().name))(*session);
  const BackprojectCase geometry = BackprojectCases().front();
  const Shape3 few{3, geometry.detector.middle, geometry.detector.fast};
  const auto reference = OpenSession("reference");
  const auto volume = NewVolume(*session, geometry.grid);
  const auto foreign_volume = NewVolume(*reference, geometry.grid);
  const auto stack = NewStack(*session, geometry.detector, ops::StackUse::kProjections);
  const auto small = NewStack(*session, few, ops::StackUse::kProjections);
  const auto other_use = NewStack(*session, geometry.detector, ops::StackUse::kLineIntegrals);
  const auto foreign_stack = NewStack(*reference, geometry.detector, ops::StackUse::kProjections);
  Slopes slopes(geometry.matrices.size());
  Slopes too_few(geometry.matrices.size() - 1);
  for (const absl::Status& status :
       {(*operation)->Run(geometry.matrices, *small, *volume, slopes),
        (*operation)->Run(geometry.matrices, *other_use, *volume, slopes),
        (*operation)->Run(geometry.matrices, *foreign_stack, *volume, slopes),
        (*operation)->Run(geometry.matrices, *stack, *foreign_volume, slopes),
        (*operation)->Run(geometry.matrices, *stack, *volume, too_few)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, MatrixGradientTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().matrix_gradient)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
