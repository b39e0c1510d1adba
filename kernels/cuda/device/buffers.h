// Linear float32 arrays in the memory of a GPU.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "kernels/cuda/device/owners.h"
#include "kernels/cuda/device/transfers.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {

class CudaSession;

/// A share of a device's memory limit, given back with the scope.
class Reservation {
 public:
  /// `used` is the device's count of reserved bytes.
  /// Errors: RESOURCE_EXHAUSTED, naming `what`, the bytes, what is in use and the limit.
  static absl::StatusOr<Reservation> Take(std::shared_ptr<std::atomic<int64_t>> used, int64_t bytes,
                                          int64_t limit, absl::string_view what);
  Reservation(Reservation&& other) noexcept = default;
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() {
    if (used_ != nullptr) *used_ -= bytes_;
  }
  int64_t bytes() const { return bytes_; }

 private:
  Reservation(std::shared_ptr<std::atomic<int64_t>> used, int64_t bytes)
      : used_(std::move(used)), bytes_(bytes) {}
  std::shared_ptr<std::atomic<int64_t>> used_;
  int64_t bytes_;
};

/// [view][v][u] in device memory, for both uses.
class Stack final : public ops::ProjectionStack {
 public:
  Stack(CudaSession& session, Shape3 shape, ops::StackUse use, Reservation reservation,
        DeviceBuffer<float> data, Transfers transfers)
      : session_(session),
        capacity_(shape),
        shape_(shape),
        use_(use),
        reservation_(std::move(reservation)),
        data_(std::move(data)),
        transfers_(std::move(transfers)) {}
  const Shape3& shape() const override { return shape_; }
  ops::StackUse use() const override { return use_; }
  int64_t bytes() const override { return reservation_.bytes(); }
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
  Reservation reservation_;
  DeviceBuffer<float> data_;
  mutable Transfers transfers_;  // who reads has to wait, too
};

/// [z][y][x] in device memory.
class Volume final : public ops::VolumeBuffer {
 public:
  Volume(CudaSession& session, const VolumeGrid& grid, Reservation reservation,
         DeviceBuffer<float> data, Transfers transfers)
      : session_(session),
        capacity_(grid.shape()),
        grid_(grid),
        reservation_(std::move(reservation)),
        data_(std::move(data)),
        transfers_(std::move(transfers)) {}
  const VolumeGrid& grid() const override { return grid_; }
  int64_t bytes() const override { return reservation_.bytes(); }
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
  Reservation reservation_;
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
