// Objects with known attenuation and exact line integrals.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::phantom {

/// A box along the world's axes (mm).
struct Box {
  Vec3 low, high;
};

/// Something that attenuates X-rays. Thread-safe.
class Phantom {
 public:
  virtual ~Phantom() = default;
  /// Attenuation at a point (1/mm).
  virtual double Attenuation(Vec3 point) const = 0;
  /// ∫ attenuation dl along the half-line from `source` in `direction` (unit vector).
  virtual double LineIntegral(Vec3 source, Vec3 direction) const = 0;
  /// Nothing outside of it attenuates.
  virtual Box Bounds() const = 0;
  /// The same object with `map` of every attenuation, which is 0 for 0: exact as this one is where
  /// the object is made of bodies; of voxels, the values at their centres are mapped.
  virtual std::unique_ptr<Phantom> Mapped(const std::function<double(double)>& map) const = 0;
};

/// The phantoms by name, centred at the isocentre. All but the radius of the wire scale with
/// `scale_mm` (R): half of the edge of the cube that they are described in and nearly fill.
/// - "shepp-logan": Kak & Slaney's ten ellipsoids on [-R, R]³, densities times water, so that the
///   brain of 1.02 is 20 HU.
/// - "head": skin, skull of 1000 HU, brain, ventricles, eyes, air cavities, and twelve low-contrast
///   spheres of 5, 10, 20 and 50 HU in the plane z = 0. x to the left, y to the back, z to the
///   crown.
/// - "wire": 0.2 mm thick, 20 times as dense as water, tilted by 3° against z at x = R/4, in a
/// water
///   cylinder.
/// - "edge": a cube of half edge 0.4 R and 200 HU, turned by 3° about z and y, in a water cylinder.
/// - "cylinder": water, radius R and half height R; the other two use the same.
/// - "quality", "catphan": inserts, wires, low contrasts and more in cylinders of water, for image
///   quality (kernels/geometry/phantom_tables/module_table.h); "thorax": a chest (thorax.h). All of
///   them scale.
/// mu_water_per_mm scales all attenuations. Errors: NOT_FOUND (listing the names), INVALID_ARGUMENT
/// (scale outside 1..1000 mm, mu_water outside 0.0001..1).
absl::StatusOr<std::unique_ptr<Phantom>> MakePhantom(absl::string_view name, double scale_mm,
                                                     double mu_water_per_mm);
std::vector<std::string> PhantomNames();

/// A voxel volume in 1/mm, trilinear between voxel centres and zero outside the box of the
/// outermost centres. Line integrals are exact for that function but for float32 rounding (relative
/// 1e-5): each cell between eight centres that a ray crosses is integrated by a two-point Gauss
/// rule, which is exact for the cubic that a trilinear cell is along a ray. Blocks without
/// attenuation are skipped. `voxels` [z][y][x]. Errors: INVALID_ARGUMENT (grid, number of voxels,
/// values that are not finite).
absl::StatusOr<std::unique_ptr<Phantom>> MakeVoxelPhantom(std::vector<float> voxels,
                                                          const VolumeGrid& grid);

/// The phantom's line integrals of one view. out: shape {1, rows, columns}. `subsamples` rays per
/// pixel and axis are averaged (1: the pixel's centre alone). `matrix` is normalised, of full rank.
void ProjectView(const Phantom& phantom, const ProjectionMatrix& matrix, const Detector& detector,
                 int subsamples, ThreadPool& pool, HostView3<float> out);

/// The phantom at voxel centres in HU, with `subsamples`^3 points averaged per voxel. out:
/// [z][y][x].
void Rasterize(const Phantom& phantom, const VolumeGrid& grid, double mu_water_per_mm,
               int subsamples, ThreadPool& pool, HostView3<float> out);

}  // namespace isocenter::phantom
