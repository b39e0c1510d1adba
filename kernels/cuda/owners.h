// Owners of CUDA resources: move-only, freed with the scope.
#pragma once

#include <cuda_runtime_api.h>
#include <cufft.h>

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/cuda/status.h"

namespace isocenter::cuda {

/// A stream that does not wait for the default stream.
class Stream {
 public:
  static absl::StatusOr<Stream> Create() {
    Stream stream;
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream.stream_, cudaStreamNonBlocking));
    return stream;
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  cudaStream_t get() const { return stream_; }

 private:
  Stream() = default;
  cudaStream_t stream_ = nullptr;
};

/// `count` elements of device memory, not initialised.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  static absl::StatusOr<DeviceBuffer> Create(int64_t count) {
    DeviceBuffer buffer;
    ISO_RETURN_IF_CUDA_ERROR(
        cudaMalloc(reinterpret_cast<void**>(&buffer.data_), count * sizeof(T)));
    buffer.count_ = count;
    return buffer;
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) cudaFree(data_);
  }
  T* data() const { return data_; }
  int64_t count() const { return count_; }
  /// Makes room for `count` elements; the contents are lost when it grows.
  absl::Status Reserve(int64_t count) {
    if (count <= count_) return absl::OkStatus();
    *this = DeviceBuffer();
    ISO_ASSIGN_OR_RETURN(*this, Create(count));
    return absl::OkStatus();
  }

 private:
  T* data_ = nullptr;
  int64_t count_ = 0;
};

/// A batched one-dimensional transform of real rows.
class FftPlan {
 public:
  /// `type` is CUFFT_R2C or CUFFT_C2R; rows of `n` reals, stored densely, to or from n/2+1 complex
  /// values.
  static absl::StatusOr<FftPlan> Create(int n, int batch, cufftType type, cudaStream_t stream) {
    FftPlan plan;
    ISO_RETURN_IF_CUDA_ERROR(cufftPlan1d(&plan.plan_, n, type, batch));
    plan.valid_ = true;
    ISO_RETURN_IF_CUDA_ERROR(cufftSetStream(plan.plan_, stream));
    return plan;
  }
  FftPlan(FftPlan&& other) noexcept
      : plan_(other.plan_), valid_(std::exchange(other.valid_, false)) {}
  FftPlan& operator=(FftPlan&& other) noexcept {
    std::swap(plan_, other.plan_);
    std::swap(valid_, other.valid_);
    return *this;
  }
  ~FftPlan() {
    if (valid_) cufftDestroy(plan_);
  }
  cufftHandle get() const { return plan_; }

 private:
  FftPlan() = default;
  cufftHandle plan_ = 0;
  bool valid_ = false;
};

}  // namespace isocenter::cuda
