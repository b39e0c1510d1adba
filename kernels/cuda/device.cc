#include "kernels/cuda/device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// Copies between host and device and waits, so that the host memory is the caller's again.
absl::Status CopyAndWait(const CudaDevice& device, void* to, const void* from, int64_t bytes,
                         cudaMemcpyKind kind) {
  ISO_RETURN_IF_ERROR(device.MakeCurrent());
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to, from, bytes, kind, device.stream()));
  return ToStatus(cudaStreamSynchronize(device.stream()), "cudaStreamSynchronize");
}

// Rows and views become a grid of thread blocks; larger stacks do not occur.
constexpr int64_t kLargestExtent = 65535;

int64_t SliceCount(Shape3 shape) { return shape.middle * shape.fast; }

}  // namespace

absl::StatusOr<Reservation> Reservation::Take(std::atomic<int64_t>& used, int64_t bytes,
                                              int64_t limit, absl::string_view what) {
  const int64_t before = used.fetch_add(bytes);
  Reservation reservation(used, bytes);
  if (before > limit - bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " needs ", bytes, " bytes; ", before,
                                                     " are in use of the device's limit of ",
                                                     limit));
  }
  return reservation;
}

absl::Status Stack::Upload(int64_t first_view, HostView3<const float> projections) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  return CopyAndWait(device_, data() + first_view * SliceCount(shape_), projections.data(),
                     projections.shape().count() * sizeof(float), cudaMemcpyHostToDevice);
}

absl::Status Stack::Download(int64_t first_view, HostView3<float> projections) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  return CopyAndWait(device_, projections.data(), data() + first_view * SliceCount(shape_),
                     projections.shape().count() * sizeof(float), cudaMemcpyDeviceToHost);
}

absl::Status Volume::Clear() {
  ISO_RETURN_IF_ERROR(device_.MakeCurrent());
  return ToStatus(cudaMemsetAsync(data(), 0, bytes(), device_.stream()), "cudaMemsetAsync");
}

absl::Status Volume::Upload(int64_t first_slice, HostView3<const float> slices) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  return CopyAndWait(device_, data() + first_slice * SliceCount(grid_.shape()), slices.data(),
                     slices.shape().count() * sizeof(float), cudaMemcpyHostToDevice);
}

absl::Status Volume::Download(int64_t first_slice, HostView3<float> slices) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  return CopyAndWait(device_, slices.data(), data() + first_slice * SliceCount(grid_.shape()),
                     slices.shape().count() * sizeof(float), cudaMemcpyDeviceToHost);
}

absl::StatusOr<std::unique_ptr<ops::Device>> CudaDevice::Open(const ops::DeviceLimits& limits) {
  constexpr int kOrdinal = 0;
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();  // the library keeps the error until it is read
    return absl::UnavailableError(
        absl::StrCat("no CUDA device: ",
                     error == cudaSuccess ? "the driver lists none" : cudaGetErrorString(error)));
  }
  cudaDeviceProp properties;
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, kOrdinal));
  ISO_RETURN_IF_CUDA_ERROR(cudaSetDevice(kOrdinal));
  ISO_ASSIGN_OR_RETURN(Stream stream, Stream::Create());
  ops::DeviceLimits own{.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem),
                        .threads = 1};
  if (limits.memory_bytes > 0) own.memory_bytes = std::min(own.memory_bytes, limits.memory_bytes);
  return std::unique_ptr<ops::Device>(new CudaDevice(
      kOrdinal, absl::StrCat(properties.name, ", ", properties.multiProcessorCount, " SMs"), own,
      std::move(stream)));
}

absl::Status CudaDevice::MakeCurrent() const {
  return ToStatus(cudaSetDevice(ordinal_), "cudaSetDevice");
}

absl::StatusOr<DeviceBuffer<float>> CudaDevice::NewZeroed(int64_t count) {
  ISO_RETURN_IF_ERROR(MakeCurrent());
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> buffer, DeviceBuffer<float>::Create(count));
  ISO_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(buffer.data(), 0, count * sizeof(float), stream()));
  return buffer;
}

absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> CudaDevice::NewProjectionStack(
    Shape3 shape, ops::StackUse use) {
  if (std::max({shape.slow, shape.middle, shape.fast}) > kLargestExtent) {
    return absl::ResourceExhaustedError(
        absl::StrCat("projections of shape ", shape.slow, "x", shape.middle, "x", shape.fast,
                     "; the device takes extents up to ", kLargestExtent));
  }
  const int64_t bytes = ProjectionStackBytes(shape, use);
  ISO_RETURN_IF_ERROR(ops::CheckAllocation("projections", shape, bytes, limits_.memory_bytes));
  ISO_ASSIGN_OR_RETURN(Reservation reservation,
                       Reservation::Take(used_, bytes, limits_.memory_bytes, "projections"));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> data, NewZeroed(shape.count()));
  return std::make_unique<Stack>(*this, shape, use, std::move(reservation), std::move(data));
}

absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> CudaDevice::NewVolume(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  const int64_t bytes = VolumeBytes(grid);
  ISO_RETURN_IF_ERROR(ops::CheckAllocation("volume", grid.shape(), bytes, limits_.memory_bytes));
  ISO_ASSIGN_OR_RETURN(Reservation reservation,
                       Reservation::Take(used_, bytes, limits_.memory_bytes, "volume"));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> data, NewZeroed(grid.voxels()));
  return std::make_unique<Volume>(*this, grid, std::move(reservation), std::move(data));
}

// The operations' own memory is counted with the stack that they use: raw frames with line
// integrals; with filtered projections the transforms' work space and the copies
// that a back-projection keeps in layouts of its own.
int64_t CudaDevice::ProjectionStackBytes(Shape3 shape, ops::StackUse use) const {
  const int64_t own = shape.count() * static_cast<int64_t>(sizeof(float));
  if (use == ops::StackUse::kLineIntegrals) return 2 * own;
  return own + BackprojectWorkspaceBytes(shape) +
         RampFilterWorkspaceBytes(static_cast<int>(shape.middle), static_cast<int>(shape.fast));
}

int64_t CudaDevice::VolumeBytes(const VolumeGrid& grid) const {
  return grid.voxels() * static_cast<int64_t>(sizeof(float));
}

absl::Status CudaDevice::Synchronize() {
  ISO_RETURN_IF_ERROR(MakeCurrent());
  return ToStatus(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

}  // namespace isocenter::cuda
