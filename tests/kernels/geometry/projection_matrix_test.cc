#include "kernels/geometry/projection_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/geometry/random_numbers.h"

namespace isocenter {
namespace {

using ::testing::HasSubstr;

// Source at (1000, 0, 0), detector perpendicular to x, u along y, v along -z, 2000 pixels to the
// source's distance, principal point (50, 40): by hand
//   w = 1 - x/1000, u·w = 50·w + 2000·y/1000, v·w = 40·w - 2000·z/1000.
const ProjectionMatrix kByHand{{-0.05, 2, 0, 50, -0.04, 0, -2, 40, -0.001, 0, 0, 1}};

void ExpectNear(Vec3 a, Vec3 b, double tolerance) {
  EXPECT_NEAR(a.x, b.x, tolerance);
  EXPECT_NEAR(a.y, b.y, tolerance);
  EXPECT_NEAR(a.z, b.z, tolerance);
}

// Any camera whose isocentre lies well in front of the source: tilted by up to ~70°, skewed,
// mirrored, with the principal point off the detector.
Camera RandomCamera(RandomNumbers& random) {
  Camera camera;
  do {
    camera.source = random.Vector(1500);
  } while (Norm(camera.source) < 100);
  do {
    camera.depth_axis = random.Vector(1);
    camera.depth_axis = (1 / Norm(camera.depth_axis)) * camera.depth_axis;
  } while (-Dot(camera.depth_axis, camera.source) < 0.3 * Norm(camera.source));
  camera.u_axis = Cross(camera.depth_axis, random.Vector(1));
  camera.u_axis = (1 / Norm(camera.u_axis)) * camera.u_axis;
  camera.v_axis = Cross(camera.depth_axis, camera.u_axis);
  camera.focal_u_px = random.Uniform(100, 8000);
  camera.focal_v_px = random.Uniform(100, 8000) * (random.Coin() ? 1 : -1);
  camera.skew_px = random.Uniform(-200, 200);
  camera.principal_u_px = random.Uniform(-3000, 3000);
  camera.principal_v_px = random.Uniform(-3000, 3000);
  camera.isocenter_depth_mm = -Dot(camera.depth_axis, camera.source);
  return camera;
}

TEST(Decompose, FindsWhatAMatrixByHandSays) {
  const auto camera = Decompose(kByHand);
  ASSERT_TRUE(camera.ok()) << camera.status();
  ExpectNear(camera->source, {1000, 0, 0}, 1e-9);
  ExpectNear(camera->u_axis, {0, 1, 0}, 1e-15);
  ExpectNear(camera->v_axis, {0, 0, -1}, 1e-15);
  ExpectNear(camera->depth_axis, {-1, 0, 0}, 1e-15);
  EXPECT_NEAR(camera->focal_u_px, 2000, 1e-9);
  EXPECT_NEAR(camera->focal_v_px, 2000, 1e-9);
  EXPECT_NEAR(camera->skew_px, 0, 1e-12);
  EXPECT_NEAR(camera->principal_u_px, 50, 1e-11);
  EXPECT_NEAR(camera->principal_v_px, 40, 1e-11);
  EXPECT_NEAR(camera->isocenter_depth_mm, 1000, 1e-9);
}

TEST(Decompose, AMirroredDetectorHasANegativeFocalLengthAlongV) {
  ProjectionMatrix mirrored = kByHand;
  mirrored.m[6] = 2;  // rows now run along +z
  const auto camera = Decompose(mirrored);
  ASSERT_TRUE(camera.ok()) << camera.status();
  EXPECT_NEAR(camera->focal_v_px, -2000, 1e-9);
  ExpectNear(camera->v_axis, {0, 0, -1}, 1e-15);
  ExpectNear(Cross(camera->u_axis, camera->v_axis), camera->depth_axis, 1e-15);
}

// Rounding of float64 through focal lengths of 1e4 pixels, lengths of 1e3 mm and conditions of up
// to about 1e4: 1e-16 · 1e4 · 1e3 and some room.
constexpr double kRoundTripTolerance = 1e-7;

TEST(Decompose, InvertsCompose) {
  RandomNumbers random(1);
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const Camera camera = RandomCamera(random);
    const auto found = Decompose(Compose(camera));
    ASSERT_TRUE(found.ok()) << found.status();
    ExpectNear(found->source, camera.source, kRoundTripTolerance);
    ExpectNear(found->u_axis, camera.u_axis, kRoundTripTolerance);
    ExpectNear(found->v_axis, camera.v_axis, kRoundTripTolerance);
    ExpectNear(found->depth_axis, camera.depth_axis, kRoundTripTolerance);
    EXPECT_NEAR(found->focal_u_px, camera.focal_u_px, kRoundTripTolerance);
    EXPECT_NEAR(found->focal_v_px, camera.focal_v_px, kRoundTripTolerance);
    EXPECT_NEAR(found->skew_px, camera.skew_px, kRoundTripTolerance);
    EXPECT_NEAR(found->principal_u_px, camera.principal_u_px, kRoundTripTolerance);
    EXPECT_NEAR(found->principal_v_px, camera.principal_v_px, kRoundTripTolerance);
    EXPECT_NEAR(found->isocenter_depth_mm, camera.isocenter_depth_mm, kRoundTripTolerance);
  }
}

TEST(Compose, InvertsDecomposeForAnyMatrixOfFullRank) {
  RandomNumbers random(2);
  int accepted = 0;
  while (accepted < 2000) {
    ProjectionMatrix p;
    for (double& value : p.m) value = random.Uniform(-1, 1);
    const auto normalized = NormalizeMatrix(p);
    if (p.m[11] <= 0) {
      EXPECT_FALSE(normalized.ok());
      continue;
    }
    ASSERT_TRUE(normalized.ok()) << normalized.status();
    const auto camera = Decompose(p);
    ASSERT_TRUE(camera.ok()) << camera.status();
    const ProjectionMatrix composed = Compose(*camera);
    // Elements reach 1/p11 and the condition 1e4 or so in 2000 draws.
    const double tolerance = 1e-9 * (1 + 1 / p.m[11]);
    for (int i = 0; i < 12; ++i) EXPECT_NEAR(composed.m[i], normalized->m[i], tolerance);
    ++accepted;
  }
}

TEST(Compose, ProjectsAsAPinholeCameraDoes) {
  RandomNumbers random(3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Camera camera = RandomCamera(random);
    const ProjectionMatrix p = Compose(camera);
    const Vec3 point = random.Vector(50);
    const Vec3 ray = point - camera.source;
    const double depth = Dot(ray, camera.depth_axis);
    const double along_u = Dot(ray, camera.u_axis), along_v = Dot(ray, camera.v_axis);
    const Projected image = p.Project(point);
    EXPECT_NEAR(image.w, depth / camera.isocenter_depth_mm, 1e-12);
    EXPECT_NEAR(
        image.u() * depth,
        camera.principal_u_px * depth + camera.focal_u_px * along_u + camera.skew_px * along_v,
        1e-6);  // rounding of products of 1e7
    EXPECT_NEAR(image.v() * depth, camera.principal_v_px * depth + camera.focal_v_px * along_v,
                1e-6);
  }
}

TEST(NormalizeMatrix, TakesAnyPositiveScale) {
  for (double scale : {1e-200, 3.0, 1e200}) {
    ProjectionMatrix scaled = kByHand;
    for (double& value : scaled.m) value *= scale;
    const auto normalized = NormalizeMatrix(scaled);
    ASSERT_TRUE(normalized.ok()) << normalized.status();
    for (int i = 0; i < 12; ++i) EXPECT_NEAR(normalized->m[i], kByHand.m[i], 1e-13);
  }
}

void ExpectRefused(const ProjectionMatrix& p, const char* why) {
  for (const absl::Status& status : {NormalizeMatrix(p).status(), Decompose(p).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
}

TEST(NormalizeMatrix, RefusesWhatIsNotFinite) {
  for (int i = 0; i < 12; ++i) {
    for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      ProjectionMatrix p = kByHand;
      p.m[i] = bad;
      ExpectRefused(p, "legal is a finite number");
    }
  }
}

TEST(NormalizeMatrix, RefusesSingularMatrices) {
  ProjectionMatrix zero_row = kByHand;
  for (int c = 0; c < 3; ++c) zero_row.m[4 + c] = 0;
  ExpectRefused(zero_row, "singular");
  ProjectionMatrix dependent = kByHand;  // u a multiple of w: every ray falls on one column
  for (int c = 0; c < 3; ++c) dependent.m[c] = 7 * dependent.m[8 + c];
  ExpectRefused(dependent, "singular");
  ExpectRefused(ProjectionMatrix{}, "singular");
  ProjectionMatrix denormal = kByHand;
  for (int c = 0; c < 12; ++c) denormal.m[c] = c == 11 ? 1 : 5e-324;
  ExpectRefused(denormal, "singular");
}

TEST(NormalizeMatrix, AcceptsRowsOfVeryDifferentScale) {
  ProjectionMatrix p = kByHand;  // a pixel pitch of a nanometre is odd, not singular
  for (int c = 0; c < 4; ++c) p.m[c] *= 1e9;
  EXPECT_TRUE(NormalizeMatrix(p).ok());
}

TEST(NormalizeMatrix, RefusesAnIsocentreThatIsNotInFrontOfTheSource) {
  ProjectionMatrix behind = kByHand;
  behind.m[11] = -1;
  ExpectRefused(behind, "legal is above 0: the matrix times -1 has the same pixels");
  behind.m[11] = 0;
  ExpectRefused(behind, "not in front of the source");
  behind.m[11] = 1e-7;  // 0.1 µm in front of it
  ExpectRefused(behind, "mm in front of the source");
  behind.m[11] = 1e-320;  // w cannot be scaled to 1
  ExpectRefused(behind, "isocentre");
}

TEST(ToVoxelIndices, MapsIndicesAsTheirWorldPoints) {
  RandomNumbers random(4);
  VolumeGrid grid{.nx = 7, .ny = 9, .nz = 5, .spacing = {0.5, 0.8, 2.5}, .origin = {-3, 11, 7}};
  const double c = std::cos(0.3), s = std::sin(0.3);
  grid.direction = {c, -s, 0, 0, 0, -1, s, c, 0};  // a rotation that permutes axes as well
  ASSERT_TRUE(ValidateGrid(grid).ok());
  for (int repeat = 0; repeat < 100; ++repeat) {
    const ProjectionMatrix p = Compose(RandomCamera(random));
    const Vec3 index = random.Vector(10);
    const Projected world = p.Project(grid.VoxelToWorld(index.x, index.y, index.z));
    const Projected voxel = ToVoxelIndices(p, grid).Project(index);
    EXPECT_NEAR(voxel.uw, world.uw, 1e-8);
    EXPECT_NEAR(voxel.vw, world.vw, 1e-8);
    EXPECT_NEAR(voxel.w, world.w, 1e-11);
  }
}

TEST(InverseLeft, GivesRaysThatProjectBack) {
  RandomNumbers random(5);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Camera camera = RandomCamera(random);
    const ProjectionMatrix p = Compose(camera);
    const auto inverse = InverseLeft(p);
    const double u = random.Uniform(-500, 2000), v = random.Uniform(-500, 2000);
    const Vec3 ray{inverse[0] * u + inverse[1] * v + inverse[2],
                   inverse[3] * u + inverse[4] * v + inverse[5],
                   inverse[6] * u + inverse[7] * v + inverse[8]};
    const Projected image = p.Project(camera.source + ray);
    EXPECT_NEAR(image.w, 1, 1e-9);
    EXPECT_NEAR(image.u(), u, 1e-6);
    EXPECT_NEAR(image.v(), v, 1e-6);
  }
}

}  // namespace
}  // namespace isocenter
