#include "kernels/gles/buffers.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::gles {

absl::StatusOr<HostFloats> HostFloats::Create(std::shared_ptr<ops::MemoryBudget> budget,
                                              int64_t count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(float));
  ISO_RETURN_IF_ERROR(budget->Take(bytes));
  HostFloats floats(std::move(budget));
  try {
    floats.values_.resize(count);
  } catch (const std::bad_alloc&) {
    floats.budget_->Return(bytes);
    return absl::ResourceExhaustedError(
        absl::StrCat("the system has no ", bytes, " bytes of memory left"));
  }
  return floats;
}

HostFloats::~HostFloats() {
  if (budget_ != nullptr) budget_->Return(bytes());
}

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
  std::fill_n(values_.data(), grid_.voxels(), 0.f);
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

}  // namespace isocenter::gles
