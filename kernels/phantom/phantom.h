// Objects with known attenuation and exact line integrals.
#pragma once

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

/// Something that attenuates X-rays. Thread-safe.
class Phantom {
 public:
  virtual ~Phantom() = default;
  /// Attenuation at a point (1/mm).
  virtual double Attenuation(Vec3 point) const = 0;
  /// ∫ attenuation dl along the half-line from `source` in `direction` (unit vector).
  virtual double LineIntegral(Vec3 source, Vec3 direction) const = 0;
};

/// "shepp-logan", "head", "wire", "edge", "cylinder". `scale_mm`: half of the object's largest
/// extent. mu_water_per_mm scales all attenuations. Errors: NOT_FOUND (listing the names),
/// INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<Phantom>> MakePhantom(absl::string_view name, double scale_mm,
                                                     double mu_water_per_mm);
std::vector<std::string> PhantomNames();

/// A voxel volume in 1/mm, trilinear between voxel centres and zero outside; line integrals by an
/// accurate ray tracer. `voxels` [z][y][x] is taken over.
absl::StatusOr<std::unique_ptr<Phantom>> MakeVoxelPhantom(std::vector<float> voxels,
                                                          const VolumeGrid& grid);

/// The phantom's line integrals at pixel centres of one view. out: [v][u], rows x columns.
/// `subsamples` rays per pixel and axis are averaged (1: the centre alone).
void ProjectView(const Phantom& phantom, const ProjectionMatrix& matrix, const Detector& detector,
                 int subsamples, ThreadPool& pool, HostView3<float> out);

/// The phantom at voxel centres in HU, with `subsamples`^3 points averaged per voxel. out:
/// [z][y][x].
void Rasterize(const Phantom& phantom, const VolumeGrid& grid, double mu_water_per_mm,
               int subsamples, ThreadPool& pool, HostView3<float> out);

}  // namespace isocenter::phantom
