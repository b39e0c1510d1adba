// All models against line integrals of a function that is known: a Gaussian, whose integral along a
// ray is σ√(2π)·exp(-d²/2σ²), d the distance of the ray from its centre.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/base/units.h"
#include "tests/kernels/reference/reference_backend.h"

namespace isocenter {
namespace {

using ops::ProjectorModel;

constexpr double kSigma = 5;  // mm
const Vec3 kCentre{1.3, -0.7, 0.4};

Vec3 Unit(Vec3 a) { return (1 / Norm(a)) * a; }

ProjectionMatrix View(Vec3 source, Vec3 up, double pixels_per_mm, Shape3 detector) {
  Camera camera;
  camera.source = source;
  camera.depth_axis = Unit(-source);
  camera.u_axis = Unit(Cross(up, camera.depth_axis));
  camera.v_axis = Cross(camera.depth_axis, camera.u_axis);
  camera.focal_u_px = camera.focal_v_px = Norm(source) * pixels_per_mm;
  camera.principal_u_px = 0.5 * static_cast<double>(detector.fast) + 0.37;
  camera.principal_v_px = 0.5 * static_cast<double>(detector.middle) - 0.21;
  return *NormalizeMatrix(Compose(camera));
}

class ProjectorAccuracy : public ReferenceBackend {
 protected:
  // The largest error of a projection of the rasterised function, as a fraction of its maximum.
  double LargestError(ProjectorModel model, const VolumeGrid& grid, double pixels_per_mm) {
    std::vector<float> voxels;
    for (int k = 0; k < grid.nz; ++k) {
      for (int j = 0; j < grid.ny; ++j) {
        for (int i = 0; i < grid.nx; ++i) {
          const Vec3 r = grid.VoxelToWorld(i, j, k) - kCentre;
          voxels.push_back(static_cast<float>(std::exp(-Dot(r, r) / (2 * kSigma * kSigma))));
        }
      }
    }
    const int pixels = static_cast<int>(45 * pixels_per_mm);
    const Shape3 detector{3, pixels, pixels};
    // Along an axis of the grid, between two, and oblique.
    const Vec3 sources[] = {{600, 3, 2}, {430, 410, -20}, {320, -250, 350}};
    std::vector<ProjectionMatrix> matrices;
    for (const Vec3 source : sources) {
      matrices.push_back(View(source, {0, 0.05, -1}, pixels_per_mm, detector));
    }
    auto stack = *session_->NewProjectionStack(detector, ops::StackUse::kProjections);
    auto operation = *(*registry_.projectors[model].forward.Find("reference"))(*session_);
    EXPECT_TRUE(operation->Run(matrices, *Filled(grid, voxels), *stack).ok());
    const std::vector<float> got = Values(*stack);
    double largest = 0;
    size_t at = 0;
    for (int view = 0; view < 3; ++view) {
      const std::array<double, 9> inverse = InverseLeft(matrices[view]);
      for (int v = 0; v < pixels; ++v) {
        for (int u = 0; u < pixels; ++u) {
          const Vec3 along = Unit({inverse[0] * u + inverse[1] * v + inverse[2],
                                   inverse[3] * u + inverse[4] * v + inverse[5],
                                   inverse[6] * u + inverse[7] * v + inverse[8]});
          const double distance = Norm(Cross(kCentre - sources[view], along));
          const double expected = std::exp(-distance * distance / (2 * kSigma * kSigma));
          const double scale = kSigma * std::sqrt(2 * kPi);
          largest = std::max(largest, std::abs(got[at++] / scale - expected));
        }
      }
    }
    return largest;
  }
};

// Bounds for voxels of up to 1.3 mm and pixels that see 2 mm, and 1 mm where voxels do not leave
// pixels empty. Smoothing of variance s² along both axes across the ray takes s²/σ² off the
// maximum. Joseph: halfway between voxels interpolation smooths by h²/4 along each axis, 1.2 % for
// 0.9 and 1.3 mm. Siddon: the ray sees the nearest voxels, up to h/2 aside, where the function has
// the slope 0.61/σ: 8 %. Voxel-driven: the pixels smooth, 2 mm by up to 4 %, and along an axis of
// the grid they get one and a half to two layers of voxels each; an eighth of a voxel evens that
// out. Separable footprints: a pixel of 2 mm averages, variance 1/3 mm², beside voxels of 1.3 mm,
// variance 0.14 mm².
TEST_F(ProjectorAccuracy, SmoothObject) {
  struct Case {
    ProjectorModel model;
    double pixels_per_mm, bound;
  };
  const VolumeGrid cubic = CenteredGrid(41, 41, 41, {1, 1, 1});
  const VolumeGrid anisotropic = CenteredGrid(54, 46, 32, {0.77, 0.9, 1.3});
  for (const Case& c : {Case{ProjectorModel::kJoseph, 0.5, 0.013},
                        {ProjectorModel::kJoseph, 1, 0.013},
                        {ProjectorModel::kSiddon, 0.5, 0.08},
                        {ProjectorModel::kSiddon, 1, 0.08},
                        {ProjectorModel::kVoxelDriven, 0.5, 0.09},
                        {ProjectorModel::kVoxelDrivenSplit, 0.5, 0.04},
                        {ProjectorModel::kSeparableFootprint, 0.5, 0.022},
                        {ProjectorModel::kSeparableFootprint, 1, 0.022}}) {
    SCOPED_TRACE(testing::Message()
                 << ops::ProjectorName(c.model) << ", " << c.pixels_per_mm << " pixels per mm");
    EXPECT_LT(LargestError(c.model, cubic, c.pixels_per_mm), c.bound);
    EXPECT_LT(LargestError(c.model, anisotropic, c.pixels_per_mm), c.bound);
  }
}

}  // namespace
}  // namespace isocenter
