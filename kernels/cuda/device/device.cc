#include "kernels/cuda/device/device.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/device/illegal_write.h"
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

class PinnedHostMemory final : public ops::HostMemory {
 public:
  explicit PinnedHostMemory(HostMemoryPool::Block block) : block_(std::move(block)) {}
  std::byte* data() override { return block_.data(); }

 private:
  HostMemoryPool::Block block_;
};

// Of a device, which is made current because CUDA would else take the first one.
std::shared_ptr<HostMemoryPool> NewHostMemoryPool(int ordinal) {
  constexpr int64_t kMostKept = int64_t{8} << 30;
  const int64_t physical = int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGE_SIZE)};
  return HostMemoryPool::Create(
      {.allocate = [ordinal](int64_t bytes) -> absl::StatusOr<void*> {
         ISO_RETURN_IF_CUDA_ERROR(cudaSetDevice(ordinal));
         void* memory = nullptr;
         ISO_RETURN_IF_CUDA_ERROR(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
         return memory;
       },
       .free =
           [ordinal](void* memory) {
             cudaSetDevice(ordinal);
             cudaFreeHost(memory);
           }},
      std::min(kMostKept, physical / 4));
}

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
  return CopyAndWait(device_, data() + first_view * SliceCount(shape_), projections.data(),
                     projections.shape().count() * sizeof(float), cudaMemcpyHostToDevice);
}

absl::Status Stack::Download(int64_t first_view, HostView3<float> projections) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  ISO_RETURN_IF_ERROR(WaitForUploads());
  return CopyAndWait(device_, projections.data(), data() + first_view * SliceCount(shape_),
                     projections.shape().count() * sizeof(float), cudaMemcpyDeviceToHost);
}

absl::Status Stack::StartUpload(int64_t first_view, HostView3<const float> projections) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  ISO_RETURN_IF_ERROR(device_.MakeCurrent());
  return transfers_.StartUpload(device_, projections, data() + first_view * SliceCount(shape_));
}

absl::Status Stack::StartDownload(int64_t first_view, HostView3<float> projections,
                                  std::function<void()> arrived) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  ISO_RETURN_IF_ERROR(device_.MakeCurrent());
  return transfers_.StartDownload(device_, data() + first_view * SliceCount(shape_), projections,
                                  std::move(arrived));
}

absl::Status Stack::WaitForUploads() const {
  ISO_RETURN_IF_ERROR(device_.MakeCurrent());
  return transfers_.WaitForUploads(device_);
}

absl::Status Stack::WaitForCopies() {
  ISO_RETURN_IF_ERROR(device_.MakeCurrent());
  return transfers_.WaitForCopies(device_);
}

absl::Status Volume::WaitForUploads() const {
  ISO_RETURN_IF_ERROR(device_.MakeCurrent());
  return transfers_.WaitForUploads(device_);
}

absl::Status Volume::WaitForCopies() {
  ISO_RETURN_IF_ERROR(device_.MakeCurrent());
  return transfers_.WaitForCopies(device_);
}

absl::Status Volume::StartUpload(int64_t first_slice, HostView3<const float> slices) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  ISO_RETURN_IF_ERROR(device_.MakeCurrent());
  return transfers_.StartUpload(device_, slices, data() + first_slice * SliceCount(grid_.shape()));
}

absl::Status Volume::StartDownload(int64_t first_slice, HostView3<float> slices,
                                   std::function<void()> arrived) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  ISO_RETURN_IF_ERROR(device_.MakeCurrent());
  return transfers_.StartDownload(device_, data() + first_slice * SliceCount(grid_.shape()), slices,
                                  std::move(arrived));
}

absl::Status Volume::Clear() {
  ISO_RETURN_IF_ERROR(WaitForCopies());
  return ToStatus(cudaMemsetAsync(data(), 0, grid_.voxels() * sizeof(float), device_.stream()),
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
  return CopyAndWait(device_, data() + first_slice * SliceCount(grid_.shape()), slices.data(),
                     slices.shape().count() * sizeof(float), cudaMemcpyHostToDevice);
}

absl::Status Volume::Download(int64_t first_slice, HostView3<float> slices) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  ISO_RETURN_IF_ERROR(WaitForUploads());
  return CopyAndWait(device_, slices.data(), data() + first_slice * SliceCount(grid_.shape()),
                     slices.shape().count() * sizeof(float), cudaMemcpyDeviceToHost);
}

absl::StatusOr<std::unique_ptr<ops::Device>> CudaDevice::Open(const ops::DeviceLimits& limits,
                                                              Workspace workspace) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();  // the library keeps the error until it is read
    return absl::UnavailableError(
        absl::StrCat("no CUDA device: ",
                     error == cudaSuccess ? "the driver lists none" : cudaGetErrorString(error)));
  }
  if (limits.ordinal < 0 || limits.ordinal >= count) {
    return absl::UnavailableError(absl::StrCat("no CUDA device ", limits.ordinal,
                                               "; the driver lists ", count, ", counted from 0"));
  }
  cudaDeviceProp properties;
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, limits.ordinal));
  ops::DeviceLimits own{.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem),
                        .threads = 1,
                        .ordinal = limits.ordinal};
  if (limits.memory_bytes > 0) own.memory_bytes = std::min(own.memory_bytes, limits.memory_bytes);
  return Create(
      {.description = absl::StrCat(properties.name, ", ", properties.multiProcessorCount, " SMs"),
       .limits = own,
       .workspace = workspace,
       .used = std::make_shared<std::atomic<int64_t>>(0),
       .host_memory = NewHostMemoryPool(limits.ordinal)},
      {});
}

absl::StatusOr<std::unique_ptr<ops::Device>> CudaDevice::Create(
    const Hardware& hardware, const ops::SessionOptions& options) {
  const int ordinal = hardware.limits.ordinal;
  ISO_RETURN_IF_CUDA_ERROR(cudaSetDevice(ordinal));
  ISO_ASSIGN_OR_RETURN(Stream kernels, Stream::Create(options.urgent));
  ISO_ASSIGN_OR_RETURN(Stream uploads, Stream::Create(options.urgent));
  ISO_ASSIGN_OR_RETURN(Stream downloads, Stream::Create(options.urgent));
  ISO_ASSIGN_OR_RETURN(Stream arrivals, Stream::Create(options.urgent));
  ISO_ASSIGN_OR_RETURN(EventTimeline timeline, EventTimeline::Create(ordinal, kernels.get()));
  return std::unique_ptr<ops::Device>(new CudaDevice(
      hardware, {std::move(kernels), std::move(uploads), std::move(downloads), std::move(arrivals)},
      std::move(timeline)));
}

absl::StatusOr<std::unique_ptr<ops::Device>> CudaDevice::NewSession(
    const ops::SessionOptions& options) {
  return Create(hardware_, options);
}

ops::DeviceTraits CudaDevice::traits() const {
  // Reading and writing the volume once per launch costs little beside 32 views; kernels work on
  // runs of 16 slices.
  return {.own_memory = true, .chunk_views = 32, .slab_slices = 16};
}

absl::Status CudaDevice::MakeCurrent() const {
  return ToStatus(cudaSetDevice(hardware_.limits.ordinal), "cudaSetDevice");
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
  ISO_RETURN_IF_ERROR(
      ops::CheckAllocation("projections", shape, bytes, hardware_.limits.memory_bytes));
  ISO_ASSIGN_OR_RETURN(
      Reservation reservation,
      Reservation::Take(hardware_.used, bytes, hardware_.limits.memory_bytes, "projections"));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> data, NewZeroed(shape.count()));
  ISO_ASSIGN_OR_RETURN(Transfers transfers, Transfers::Create());
  return std::make_unique<Stack>(*this, shape, use, std::move(reservation), std::move(data),
                                 std::move(transfers));
}

absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> CudaDevice::NewVolume(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  const int64_t bytes = VolumeBytes(grid);
  ISO_RETURN_IF_ERROR(
      ops::CheckAllocation("volume", grid.shape(), bytes, hardware_.limits.memory_bytes));
  ISO_ASSIGN_OR_RETURN(
      Reservation reservation,
      Reservation::Take(hardware_.used, bytes, hardware_.limits.memory_bytes, "volume"));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> data, NewZeroed(grid.voxels()));
  ISO_ASSIGN_OR_RETURN(Transfers transfers, Transfers::Create());
  return std::make_unique<Volume>(*this, grid, std::move(reservation), std::move(data),
                                  std::move(transfers));
}

int64_t CudaDevice::ProjectionStackBytes(Shape3 shape, ops::StackUse) const {
  return shape.count() * static_cast<int64_t>(sizeof(float));
}

int64_t CudaDevice::VolumeBytes(const VolumeGrid& grid) const {
  return grid.voxels() * static_cast<int64_t>(sizeof(float));
}

absl::StatusOr<std::unique_ptr<ops::HostMemory>> CudaDevice::NewHostMemory(int64_t bytes) {
  ISO_ASSIGN_OR_RETURN(HostMemoryPool::Block block, hardware_.host_memory->Take(bytes));
  return std::make_unique<PinnedHostMemory>(std::move(block));
}

absl::Status CudaDevice::Synchronize() {
  ISO_RETURN_IF_ERROR(MakeCurrent());
  for (const Stream* stream :
       {&streams_.uploads, &streams_.kernels, &streams_.downloads, &streams_.arrivals}) {
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream->get()));
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::Break() {
  ISO_RETURN_IF_ERROR(MakeCurrent());
  ISO_RETURN_IF_ERROR(LaunchIllegalWrite(stream()));
  ISO_RETURN_IF_ERROR(Synchronize());
  return absl::InternalError("CUDA: a write where there is no memory went unnoticed");
}

}  // namespace isocenter::cuda
