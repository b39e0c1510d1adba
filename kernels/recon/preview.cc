#include "kernels/recon/preview.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/ops/session.h"

namespace isocenter::recon {
namespace {

constexpr PlaneOrientation kOrientations[] = {PlaneOrientation::kAxial, PlaneOrientation::kCoronal,
                                              PlaneOrientation::kSagittal};
constexpr int kMostPixels = 256;

struct Axis {
  int count;
  double spacing, first;  // first: in voxels of the whole grid
};

Axis Middle(int count, double spacing) { return {1, spacing, 0.5 * (count - 1)}; }

Axis Along(int count, double spacing) {
  const int pixels = std::min(count, kMostPixels);
  const double ratio = static_cast<double>(count) / pixels;
  return {pixels, spacing * ratio, 0.5 * (ratio - 1)};
}

// The same plane with its axes in an order that devices like: they work on runs of voxels along z
// and on blocks of columns, so that a plane that is thin along z would take as long as one of their
// runs. Here it is always thin along y; along x and z, its pixels are in the order of `plane`.
VolumeGrid OnDevice(const VolumeGrid& plane, PlaneOrientation orientation) {
  const auto& d = plane.direction;
  VolumeGrid grid = plane;
  switch (orientation) {
    case PlaneOrientation::kAxial:  // x, -z, y
      grid.nz = plane.ny;
      grid.ny = plane.nz;
      std::swap(grid.spacing.y, grid.spacing.z);
      grid.direction = {d[0], -d[2], d[1], d[3], -d[5], d[4], d[6], -d[8], d[7]};
      break;
    case PlaneOrientation::kCoronal:
      break;
    case PlaneOrientation::kSagittal:  // y, -x, z
      grid.nx = plane.ny;
      grid.ny = plane.nx;
      std::swap(grid.spacing.x, grid.spacing.y);
      grid.direction = {d[1], -d[0], d[2], d[4], -d[3], d[5], d[7], -d[6], d[8]};
      break;
  }
  return grid;
}

}  // namespace

VolumeGrid PlaneGrid(const VolumeGrid& grid, PlaneOrientation orientation) {
  const auto axis = [&](PlaneOrientation thin, int count, double spacing) {
    return orientation == thin ? Middle(count, spacing) : Along(count, spacing);
  };
  const Axis x = axis(PlaneOrientation::kSagittal, grid.nx, grid.spacing.x);
  const Axis y = axis(PlaneOrientation::kCoronal, grid.ny, grid.spacing.y);
  const Axis z = axis(PlaneOrientation::kAxial, grid.nz, grid.spacing.z);
  return {.nx = x.count,
          .ny = y.count,
          .nz = z.count,
          .spacing = {x.spacing, y.spacing, z.spacing},
          .origin = grid.VoxelToWorld(x.first, y.first, z.first),
          .direction = grid.direction};
}

absl::StatusOr<std::unique_ptr<PreviewPlanes>> PreviewPlanes::Create(const VolumeGrid& grid,
                                                                     ops::Session& session) {
  std::unique_ptr<PreviewPlanes> self(new PreviewPlanes);
  for (const PlaneOrientation orientation : kOrientations) {
    Plane plane{.orientation = orientation, .grid = PlaneGrid(grid, orientation)};
    ISO_ASSIGN_OR_RETURN(plane.pixels, session.NewVolume(OnDevice(plane.grid, orientation)));
    self->planes_.push_back(std::move(plane));
  }
  return self;
}

int64_t PreviewPlanes::Bytes(const VolumeGrid& grid, const ops::Device& device) {
  int64_t bytes = 0;
  for (const PlaneOrientation orientation : kOrientations) {
    bytes += device.VolumeBytes(OnDevice(PlaneGrid(grid, orientation), orientation));
  }
  return bytes;
}

absl::Status PreviewPlanes::Clear() {
  for (const Plane& plane : planes_) ISO_RETURN_IF_ERROR(plane.pixels->Clear());
  return absl::OkStatus();
}

absl::Status PreviewPlanes::Add(std::span<const ProjectionMatrix> matrices,
                                const ops::ProjectionStack& filtered,
                                ops::Backproject& backproject) {
  for (const Plane& plane : planes_) {
    ISO_RETURN_IF_ERROR(backproject.Run(matrices, filtered, *plane.pixels));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PreviewPlane>> PreviewPlanes::Take(
    const ops::HounsfieldScale& scale) const {
  std::vector<PreviewPlane> taken;
  for (const Plane& plane : planes_) {
    PreviewPlane& copy = taken.emplace_back(
        PreviewPlane{plane.orientation, plane.grid, std::vector<float>(plane.grid.voxels())});
    ISO_RETURN_IF_ERROR(
        plane.pixels->Download(0, {copy.hounsfield.data(), plane.pixels->grid().shape()}));
    for (float& value : copy.hounsfield) {
      value = static_cast<float>(ops::HounsfieldOf(scale, value));
    }
  }
  return taken;
}

}  // namespace isocenter::recon
