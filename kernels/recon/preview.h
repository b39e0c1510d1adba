// What a reconstruction looks like while its frames still arrive: three planes through the middle.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/device.h"
#include "kernels/ops/operations.h"

namespace isocenter::recon {

enum class PlaneOrientation { kAxial, kCoronal, kSagittal };

struct PreviewPlane {
  PlaneOrientation orientation = PlaneOrientation::kAxial;
  /// One voxel thick: axial nz = 1, coronal ny = 1, sagittal nx = 1.
  VolumeGrid grid;
  std::vector<float> hounsfield;  // [z][y][x] of the grid
};

/// The plane through the middle of `grid` that covers it with at most 256 pixels along an axis.
/// Where the grid has more, the pixels are larger; each is a sample at its centre, not a mean.
VolumeGrid PlaneGrid(const VolumeGrid& grid, PlaneOrientation orientation);

/// The three planes in a device's memory. Not thread-safe.
class PreviewPlanes {
 public:
  /// `session` must outlive the planes. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<PreviewPlanes>> Create(const VolumeGrid& grid,
                                                               ops::Session& session);
  /// Device memory that they take.
  static int64_t Bytes(const VolumeGrid& grid, const ops::Device& device);

  absl::Status Clear();
  /// Back-projects filtered views, as for a volume.
  absl::Status Add(std::span<const ProjectionMatrix> matrices, const ops::ProjectionStack& filtered,
                   ops::Backproject& backproject);
  /// Waits for what has been added.
  absl::StatusOr<std::vector<PreviewPlane>> Take(const ops::HounsfieldScale& scale) const;

 private:
  struct Plane {
    PlaneOrientation orientation;
    VolumeGrid grid;
    std::unique_ptr<ops::VolumeBuffer> pixels;
  };
  PreviewPlanes() = default;

  std::vector<Plane> planes_;
};

}  // namespace isocenter::recon
