#include "kernels/cuda/device/device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/thread_pool.h"
#include "kernels/cuda/device/illegal_write.h"
#include "kernels/cuda/device/session.h"

namespace isocenter::cuda {
namespace {

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
      std::min(kMostKept, PhysicalMemoryBytes() / 4));
}

}  // namespace

CudaDevice::CudaDevice(std::string description, const ops::DeviceLimits& limits, Stream checks)
    : description_(std::move(description)),
      limits_(limits),
      memory_(std::make_shared<MemoryLimit>(limits.memory_bytes)),
      host_memory_(NewHostMemoryPool(limits.ordinal)),
      checks_(std::move(checks)) {}

absl::StatusOr<std::unique_ptr<ops::Device>> CudaDevice::Open(const ops::DeviceLimits& limits) {
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
                        .threads = UsableCores(),
                        .ordinal = limits.ordinal};
  if (limits.memory_bytes > 0) own.memory_bytes = std::min(own.memory_bytes, limits.memory_bytes);
  ISO_RETURN_IF_CUDA_ERROR(cudaSetDevice(limits.ordinal));
  ISO_ASSIGN_OR_RETURN(Stream checks, Stream::Create(/*urgent=*/false));
  return std::unique_ptr<ops::Device>(
      new CudaDevice(absl::StrCat(properties.name, ", ", properties.multiProcessorCount, " SMs"),
                     own, std::move(checks)));
}

absl::StatusOr<std::unique_ptr<ops::Session>> CudaDevice::NewSession(
    const ops::SessionOptions& options) {
  return CudaSession::Create(*this, options);
}

ops::DeviceTraits CudaDevice::traits() const {
  // Reading and writing the volume once per launch costs little beside 32 views; kernels work on
  // runs of 16 slices.
  return {.own_memory = true, .chunk_views = 32, .slab_slices = 16};
}

absl::Status CudaDevice::MakeCurrent() const {
  return ToStatus(cudaSetDevice(limits_.ordinal), "cudaSetDevice");
}

absl::StatusOr<std::unique_ptr<ops::HostMemory>> CudaDevice::NewHostMemory(int64_t bytes) {
  ISO_ASSIGN_OR_RETURN(HostMemoryPool::Block block, host_memory_->Take(bytes));
  return std::make_unique<PinnedHostMemory>(std::move(block));
}

int64_t CudaDevice::ProjectionStackBytes(Shape3 shape, ops::StackUse) const {
  return shape.count() * static_cast<int64_t>(sizeof(float));
}

int64_t CudaDevice::VolumeBytes(const VolumeGrid& grid) const {
  return grid.voxels() * static_cast<int64_t>(sizeof(float));
}

absl::Status CudaDevice::Check() {
  ISO_RETURN_IF_ERROR(MakeCurrent());
  return ToStatus(cudaStreamSynchronize(checks_.get()), "cudaStreamSynchronize");
}

absl::Status CudaDevice::Break() {
  ISO_RETURN_IF_ERROR(MakeCurrent());
  ISO_RETURN_IF_ERROR(LaunchIllegalWrite(checks_.get()));
  ISO_RETURN_IF_ERROR(Check());
  return absl::InternalError("CUDA: a write where there is no memory went unnoticed");
}

}  // namespace isocenter::cuda
