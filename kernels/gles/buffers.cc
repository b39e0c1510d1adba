#include "kernels/gles/buffers.h"

#include "kernels/base/status_macros.h"

namespace isocenter::gles {
namespace {

int64_t Plane(const Shape3& shape) { return shape.middle * shape.fast; }

}  // namespace

absl::Status Stack::Reshape(Shape3 shape) {
  ISO_RETURN_IF_ERROR(ops::CheckReshape(shape, capacity_));
  shape_ = shape;
  return absl::OkStatus();
}

absl::Status Stack::Upload(int64_t first_view, HostView3<const float> projections) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  return values_.Upload(first_view * Plane(shape_), projections.shape().count(),
                        projections.data());
}

absl::Status Stack::Download(int64_t first_view, HostView3<float> projections) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  return values_.Download(first_view * Plane(shape_), projections.shape().count(),
                          projections.data());
}

absl::Status Volume::Clear() { return values_.Fill(grid_.voxels(), 0.f); }

absl::Status Volume::Regrid(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ops::CheckReshape(grid.shape(), capacity_));
  grid_ = grid;
  return Clear();
}

absl::Status Volume::Upload(int64_t first_slice, HostView3<const float> slices) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  return values_.Upload(first_slice * Plane(grid_.shape()), slices.shape().count(), slices.data());
}

absl::Status Volume::Download(int64_t first_slice, HostView3<float> slices) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  return values_.Download(first_slice * Plane(grid_.shape()), slices.shape().count(),
                          slices.data());
}

}  // namespace isocenter::gles
