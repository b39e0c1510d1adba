// Owners of CUDA resources: move-only, freed with the scope.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/status.h"

namespace isocenter::cuda {

/// A stream that does not wait for the default stream.
class Stream {
 public:
  /// When a multiprocessor has room, blocks of an urgent stream's kernels go before those of
  /// others; blocks that run are not stopped.
  static absl::StatusOr<Stream> Create(bool urgent) {
    int least = 0, greatest = 0;  // numbers: greatest <= least
    ISO_RETURN_IF_CUDA_ERROR(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    Stream stream;
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamCreateWithPriority(&stream.stream_, cudaStreamNonBlocking,
                                                          urgent ? greatest : least));
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

/// A point in a stream's work.
class Event {
 public:
  /// `flags`: cudaEventDefault for one whose time is read, cudaEventDisableTiming for order alone.
  static absl::StatusOr<Event> Create(unsigned flags) {
    Event event;
    ISO_RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event.event_, flags));
    return event;
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  cudaEvent_t get() const { return event_; }

 private:
  Event() = default;
  cudaEvent_t event_ = nullptr;
};

/// Page-locked host memory: copies run beside the host's and the device's work, at full speed.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  static absl::StatusOr<PinnedBuffer> Create(int64_t bytes) {
    PinnedBuffer buffer;
    ISO_RETURN_IF_CUDA_ERROR(cudaHostAlloc(&buffer.data_, bytes, cudaHostAllocPortable));
    buffer.bytes_ = bytes;
    return buffer;
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PinnedBuffer() {
    if (data_ != nullptr) cudaFreeHost(data_);
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  int64_t bytes() const { return bytes_; }
  /// Makes room for `bytes`; the contents are lost when it grows.
  absl::Status Reserve(int64_t bytes) {
    if (bytes <= bytes_) return absl::OkStatus();
    *this = PinnedBuffer();
    ISO_ASSIGN_OR_RETURN(*this, Create(bytes));
    return absl::OkStatus();
  }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
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

}  // namespace isocenter::cuda
