#include "kernels/cuda/device/session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// Rows and views become a grid of thread blocks; larger stacks do not occur.
constexpr int64_t kLargestExtent = 65535;

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Session>> CudaSession::Create(
    CudaDevice& device, const ops::SessionOptions& options) {
  ISO_RETURN_IF_ERROR(device.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(Stream kernels, Stream::Create(options.urgent));
  ISO_ASSIGN_OR_RETURN(Stream uploads, Stream::Create(options.urgent));
  ISO_ASSIGN_OR_RETURN(Stream downloads, Stream::Create(options.urgent));
  ISO_ASSIGN_OR_RETURN(Stream arrivals, Stream::Create(options.urgent));
  ISO_ASSIGN_OR_RETURN(EventTimeline timeline,
                       EventTimeline::Create(device.ordinal(), kernels.get()));
  return std::unique_ptr<ops::Session>(new CudaSession(
      device, {std::move(kernels), std::move(uploads), std::move(downloads), std::move(arrivals)},
      std::move(timeline)));
}

absl::StatusOr<DeviceBuffer<float>> CudaSession::NewZeroed(int64_t count) {
  ISO_RETURN_IF_ERROR(MakeCurrent());
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> buffer, DeviceBuffer<float>::Create(count));
  ISO_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(buffer.data(), 0, count * sizeof(float), stream()));
  return buffer;
}

absl::StatusOr<std::unique_ptr<ops::ProjectionStack>> CudaSession::NewProjectionStack(
    Shape3 shape, ops::StackUse use) {
  if (std::max({shape.slow, shape.middle, shape.fast}) > kLargestExtent) {
    return absl::ResourceExhaustedError(
        absl::StrCat("projections of shape ", shape.slow, "x", shape.middle, "x", shape.fast,
                     "; the device takes extents up to ", kLargestExtent));
  }
  const int64_t bytes = device_.ProjectionStackBytes(shape, use);
  ISO_RETURN_IF_ERROR(
      ops::CheckAllocation("projections", shape, bytes, device_.limits().memory_bytes));
  ISO_ASSIGN_OR_RETURN(Reservation reservation, device_.Reserve(bytes, "projections"));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> data, NewZeroed(shape.count()));
  ISO_ASSIGN_OR_RETURN(Transfers transfers, Transfers::Create());
  return std::make_unique<Stack>(*this, shape, use, std::move(reservation), std::move(data),
                                 std::move(transfers));
}

absl::StatusOr<std::unique_ptr<ops::VolumeBuffer>> CudaSession::NewVolume(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  const int64_t bytes = device_.VolumeBytes(grid);
  ISO_RETURN_IF_ERROR(
      ops::CheckAllocation("volume", grid.shape(), bytes, device_.limits().memory_bytes));
  ISO_ASSIGN_OR_RETURN(Reservation reservation, device_.Reserve(bytes, "volume"));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> data, NewZeroed(grid.voxels()));
  ISO_ASSIGN_OR_RETURN(Transfers transfers, Transfers::Create());
  return std::make_unique<Volume>(*this, grid, std::move(reservation), std::move(data),
                                  std::move(transfers));
}

absl::Status CudaSession::Synchronize() {
  ISO_RETURN_IF_ERROR(MakeCurrent());
  for (const Stream* stream :
       {&streams_.uploads, &streams_.kernels, &streams_.downloads, &streams_.arrivals}) {
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream->get()));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cuda
