// Linear float32 arrays in the memory of a GPU.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kernels/cuda/device/owners.h"
#include "kernels/cuda/device/transfers.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {

class CudaSession;

/// [view][v][u] in device memory, for both uses.
class Stack final : public ops::ProjectionStack {
 public:
  Stack(CudaSession& session, Shape3 shape, ops::StackUse use, DeviceBuffer<float> data,
        Transfers transfers)
      : session_(session),
        capacity_(shape),
        shape_(shape),
        use_(use),
        data_(std::move(data)),
        transfers_(std::move(transfers)) {}
  const Shape3& shape() const override { return shape_; }
  ops::StackUse use() const override { return use_; }
  int64_t bytes() const override { return data_.bytes(); }
  absl::Status Reshape(Shape3 shape) override;
  absl::Status Upload(int64_t first_view, HostView3<const float> projections) override;
  absl::Status Download(int64_t first_view, HostView3<float> projections) const override;
  absl::Status StartUpload(int64_t first_view, HostView3<const float> projections) override;
  using ProjectionStack::StartDownload;
  absl::Status StartDownload(int64_t first_view, HostView3<float> projections,
                             std::function<void()> arrived) override;

  /// The shape that it was made for.
  const Shape3& capacity() const { return capacity_; }
  float* data() const { return data_.data(); }
  /// The session that it was made by.
  CudaSession& session() const { return session_; }
  /// As Transfers.
  absl::Status WaitForUploads() const;
  absl::Status WaitForCopies();

 private:
  CudaSession& session_;
  const Shape3 capacity_;
  Shape3 shape_;
  ops::StackUse use_;
  DeviceBuffer<float> data_;
  mutable Transfers transfers_;  // who reads has to wait, too
};

/// [z][y][x] in device memory.
class Volume final : public ops::VolumeBuffer {
 public:
  Volume(CudaSession& session, const VolumeGrid& grid, DeviceBuffer<float> data,
         Transfers transfers)
      : session_(session),
        capacity_(grid.shape()),
        grid_(grid),
        data_(std::move(data)),
        transfers_(std::move(transfers)) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return data_.bytes(); }
  absl::Status Clear() override;
  absl::Status Regrid(const VolumeGrid& grid) override;
  absl::Status Reshape(const VolumeGrid& grid) override;
  absl::Status Upload(int64_t first_slice, HostView3<const float> slices) override;
  absl::Status Download(int64_t first_slice, HostView3<float> slices) const override;
  absl::Status StartUpload(int64_t first_slice, HostView3<const float> slices) override;
  using VolumeBuffer::StartDownload;
  absl::Status StartDownload(int64_t first_slice, HostView3<float> slices,
                             std::function<void()> arrived) override;

  float* data() const { return data_.data(); }
  /// The session that it was made by.
  CudaSession& session() const { return session_; }
  /// As Transfers.
  absl::Status WaitForUploads() const;
  absl::Status WaitForCopies();

 private:
  CudaSession& session_;
  const Shape3 capacity_;
  VolumeGrid grid_;
  DeviceBuffer<float> data_;
  mutable Transfers transfers_;  // who reads has to wait, too
};

/// The buffers of this backend behind the interfaces, for work that is to be started on them now.
/// Errors: INVALID_ARGUMENT (another backend's).
inline absl::StatusOr<Stack*> AsStack(ops::ProjectionStack& stack) {
  ISO_ASSIGN_OR_RETURN(Stack * own, ops::OwnBuffer<Stack>(stack, "cuda"));
  ISO_RETURN_IF_ERROR(own->WaitForCopies());
  return own;
}
inline absl::StatusOr<const Stack*> AsStack(const ops::ProjectionStack& stack) {
  ISO_ASSIGN_OR_RETURN(const Stack* own, ops::OwnBuffer<Stack>(stack, "cuda"));
  ISO_RETURN_IF_ERROR(own->WaitForUploads());
  return own;
}
inline absl::StatusOr<Volume*> AsVolume(ops::VolumeBuffer& volume) {
  ISO_ASSIGN_OR_RETURN(Volume * own, ops::OwnBuffer<Volume>(volume, "cuda"));
  ISO_RETURN_IF_ERROR(own->WaitForCopies());
  return own;
}
inline absl::StatusOr<const Volume*> AsVolume(const ops::VolumeBuffer& volume) {
  ISO_ASSIGN_OR_RETURN(const Volume* own, ops::OwnBuffer<Volume>(volume, "cuda"));
  ISO_RETURN_IF_ERROR(own->WaitForUploads());
  return own;
}

}  // namespace isocenter::cuda
