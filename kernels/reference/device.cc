#include "kernels/reference/device.h"

#include <algorithm>
#include <limits>
#include <new>

#include "absl/strings/str_cat.h"
#include "kernels/ops/check.h"

namespace isocenter::reference {

absl::Status Stack::Reshape(Shape3 shape) {
  ISO_RETURN_IF_ERROR(ops::CheckReshape(shape, capacity_));
  shape_ = shape;
  return absl::OkStatus();
}

absl::Status Stack::Upload(int64_t first_view, HostView3<const float> projections) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  std::copy_n(projections.data(), projections.shape().count(), view().row(first_view, 0));
  return absl::OkStatus();
}

absl::Status Stack::Download(int64_t first_view, HostView3<float> projections) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  std::copy_n(view().row(first_view, 0), projections.shape().count(), projections.data());
  return absl::OkStatus();
}

absl::Status Volume::Clear() {
  std::fill(data_.begin(), data_.end(), 0.0);
  return absl::OkStatus();
}

absl::Status Volume::Regrid(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ops::CheckReshape(grid.shape(), capacity_));
  grid_ = grid;
  return Clear();
}

absl::Status Volume::Upload(int64_t first_slice, HostView3<const float> slices) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  std::copy_n(slices.data(), slices.shape().count(), view().row(first_slice, 0));
  return absl::OkStatus();
}

absl::Status Volume::Download(int64_t first_slice, HostView3<float> slices) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  std::copy_n(view().row(first_slice, 0), slices.shape().count(), slices.data());
  return absl::OkStatus();
}

ReferenceDevice::ReferenceDevice(const ops::DeviceLimits& limits) : limits_(limits) {
  limits_.threads = 1;
  if (limits_.memory_bytes == 0) limits_.memory_bytes = std::numeric_limits<int64_t>::max();
}

absl::StatusOr<std::unique_ptr<ops::Session>> ReferenceDevice::NewSession(
    const ops::SessionOptions&) {
  return std::make_unique<ReferenceSession>(*this);
}

int64_t ReferenceDevice::ProjectionStackBytes(Shape3 shape, ops::StackUse) const {
  return shape.count() * static_cast<int64_t>(sizeof(double));
}

int64_t ReferenceDevice::VolumeBytes(const VolumeGrid& grid) const {
  return grid.voxels() * static_cast<int64_t>(sizeof(double));
}

absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> ReferenceSession::NewProjectionStack(
    Shape3 shape, ops::StackUse use) {
  ISO_RETURN_IF_ERROR(ops::CheckAllocation("projections", shape,
                                           device().ProjectionStackBytes(shape, use),
                                           device().limits().memory_bytes));
  return std::make_unique<Stack>(shape, use);
}

absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> ReferenceSession::NewVolume(
    const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(ops::CheckAllocation("volume", grid.shape(), device().VolumeBytes(grid),
                                           device().limits().memory_bytes));
  return std::make_unique<Volume>(grid);
}

}  // namespace isocenter::reference
