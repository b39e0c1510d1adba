// A session of a CUDA device: a stream for its kernels and one for each direction of copies.
#pragma once

#include <memory>
#include <utility>

#include "kernels/cuda/device/buffers.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/owners.h"
#include "kernels/cuda/device/timeline.h"
#include "kernels/ops/session.h"

namespace isocenter::cuda {

class CudaSession final : public ops::Session {
 public:
  /// Errors: those of ops::Device::NewSession.
  static absl::StatusOr<std::unique_ptr<ops::Session>> Create(CudaDevice& device,
                                                              const ops::SessionOptions& options);

  EventTimeline& timeline() override { return timeline_; }
  absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> NewProjectionStack(
      Shape3 shape, ops::StackUse use) override;
  absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> NewVolume(const VolumeGrid& grid) override;
  absl::Status Synchronize() override;

  /// Kernels; copies to the device; copies from it.
  cudaStream_t stream() const { return streams_.kernels.get(); }
  cudaStream_t upload_stream() const { return streams_.uploads.get(); }
  cudaStream_t download_stream() const { return streams_.downloads.get(); }
  /// Calls of host functions, so that no copy waits for one to return.
  cudaStream_t arrival_stream() const { return streams_.arrivals.get(); }
  /// Makes its device the calling thread's; every entry point does so first.
  absl::Status MakeCurrent() const { return device_.MakeCurrent(); }
  int ordinal() const { return device_.ordinal(); }

 private:
  struct Streams {
    Stream kernels, uploads, downloads, arrivals;
  };
  CudaSession(CudaDevice& device, Streams streams, EventTimeline timeline)
      : Session(device),
        device_(device),
        streams_(std::move(streams)),
        timeline_(std::move(timeline)) {}
  absl::StatusOr<DeviceBuffer<float>> NewZeroed(int64_t count);

  CudaDevice& device_;
  Streams streams_;
  EventTimeline timeline_;
};

}  // namespace isocenter::cuda
