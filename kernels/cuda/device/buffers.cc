#include "kernels/cuda/device/buffers.h"

#include "absl/strings/str_cat.h"
#include "kernels/cuda/device/session.h"

namespace isocenter::cuda {
namespace {

// Copies between host and device and waits, so that the host memory is the caller's again.
absl::Status CopyAndWait(const CudaSession& session, void* to, const void* from, int64_t bytes,
                         cudaMemcpyKind kind) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to, from, bytes, kind, session.stream()));
  return ToStatus(cudaStreamSynchronize(session.stream()), "cudaStreamSynchronize");
}

int64_t SliceCount(Shape3 shape) { return shape.middle * shape.fast; }

}  // namespace

absl::StatusOr<Reservation> Reservation::Take(std::shared_ptr<std::atomic<int64_t>> used,
                                              int64_t bytes, int64_t limit,
                                              absl::string_view what) {
  const int64_t before = used->fetch_add(bytes);
  Reservation reservation(std::move(used), bytes);
  if (before > limit - bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " needs ", bytes, " bytes; ", before,
                                                     " are in use of the device's limit of ",
                                                     limit));
  }
  return reservation;
}

absl::Status Stack::Reshape(Shape3 shape) {
  ISO_RETURN_IF_ERROR(ops::CheckReshape(shape, capacity_));
  shape_ = shape;
  return absl::OkStatus();
}

absl::Status Stack::Upload(int64_t first_view, HostView3<const float> projections) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  ISO_RETURN_IF_ERROR(WaitForCopies());
  return CopyAndWait(session_, data() + first_view * SliceCount(shape_), projections.data(),
                     projections.shape().count() * sizeof(float), cudaMemcpyHostToDevice);
}

absl::Status Stack::Download(int64_t first_view, HostView3<float> projections) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  ISO_RETURN_IF_ERROR(WaitForUploads());
  return CopyAndWait(session_, projections.data(), data() + first_view * SliceCount(shape_),
                     projections.shape().count() * sizeof(float), cudaMemcpyDeviceToHost);
}

absl::Status Stack::StartUpload(int64_t first_view, HostView3<const float> projections) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  ISO_RETURN_IF_ERROR(session_.MakeCurrent());
  return transfers_.StartUpload(session_, projections, data() + first_view * SliceCount(shape_));
}

absl::Status Stack::StartDownload(int64_t first_view, HostView3<float> projections,
                                  std::function<void()> arrived) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  ISO_RETURN_IF_ERROR(session_.MakeCurrent());
  return transfers_.StartDownload(session_, data() + first_view * SliceCount(shape_), projections,
                                  std::move(arrived));
}

absl::Status Stack::WaitForUploads() const {
  ISO_RETURN_IF_ERROR(session_.MakeCurrent());
  return transfers_.WaitForUploads(session_);
}

absl::Status Stack::WaitForCopies() {
  ISO_RETURN_IF_ERROR(session_.MakeCurrent());
  return transfers_.WaitForCopies(session_);
}

absl::Status Volume::WaitForUploads() const {
  ISO_RETURN_IF_ERROR(session_.MakeCurrent());
  return transfers_.WaitForUploads(session_);
}

absl::Status Volume::WaitForCopies() {
  ISO_RETURN_IF_ERROR(session_.MakeCurrent());
  return transfers_.WaitForCopies(session_);
}

absl::Status Volume::StartUpload(int64_t first_slice, HostView3<const float> slices) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  ISO_RETURN_IF_ERROR(session_.MakeCurrent());
  return transfers_.StartUpload(session_, slices, data() + first_slice * SliceCount(grid_.shape()));
}

absl::Status Volume::StartDownload(int64_t first_slice, HostView3<float> slices,
                                   std::function<void()> arrived) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  ISO_RETURN_IF_ERROR(session_.MakeCurrent());
  return transfers_.StartDownload(session_, data() + first_slice * SliceCount(grid_.shape()),
                                  slices, std::move(arrived));
}

absl::Status Volume::Clear() {
  ISO_RETURN_IF_ERROR(WaitForCopies());
  return ToStatus(cudaMemsetAsync(data(), 0, grid_.voxels() * sizeof(float), session_.stream()),
                  "cudaMemsetAsync");
}

absl::Status Volume::Regrid(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(Reshape(grid));
  return Clear();
}

absl::Status Volume::Reshape(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ops::CheckReshape(grid.shape(), capacity_));
  grid_ = grid;
  return absl::OkStatus();
}

absl::Status Volume::Upload(int64_t first_slice, HostView3<const float> slices) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  ISO_RETURN_IF_ERROR(WaitForCopies());
  return CopyAndWait(session_, data() + first_slice * SliceCount(grid_.shape()), slices.data(),
                     slices.shape().count() * sizeof(float), cudaMemcpyHostToDevice);
}

absl::Status Volume::Download(int64_t first_slice, HostView3<float> slices) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  ISO_RETURN_IF_ERROR(WaitForUploads());
  return CopyAndWait(session_, slices.data(), data() + first_slice * SliceCount(grid_.shape()),
                     slices.shape().count() * sizeof(float), cudaMemcpyDeviceToHost);
}

}  // namespace isocenter::cuda
