#include "kernels/cuda/device/session_copies.h"

#include <algorithm>

namespace isocenter::cuda {

absl::Status WaitForSession(const CudaSession& earlier, const CudaSession& later) {
  if (&earlier != &later) {
    // An event is of the device that it is recorded on; CUDA keeps it until that has happened.
    ISO_RETURN_IF_ERROR(earlier.MakeCurrent());
    ISO_ASSIGN_OR_RETURN(const Event event, Event::Create(cudaEventDisableTiming));
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(event.get(), earlier.stream()));
    ISO_RETURN_IF_ERROR(later.MakeCurrent());
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(later.stream(), event.get()));
  }
  return later.MakeCurrent();
}

absl::Status SessionCopies::Connect(const CudaSession& owner) {
  if (std::find(connected_.begin(), connected_.end(), owner.ordinal()) != connected_.end()) {
    return absl::OkStatus();
  }
  int possible = 0;
  ISO_RETURN_IF_CUDA_ERROR(cudaDeviceCanAccessPeer(&possible, session_.ordinal(), owner.ordinal()));
  if (possible != 0) {
    const cudaError_t error = cudaDeviceEnablePeerAccess(owner.ordinal(), 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();  // by another session; the library keeps the error until it is read
    } else {
      ISO_RETURN_IF_ERROR(ToStatus(error, "cudaDeviceEnablePeerAccess"));
    }
  }
  connected_.push_back(owner.ordinal());
  return absl::OkStatus();
}

absl::Status SessionCopies::Copy(const CudaSession& owner, const float* from, int64_t count,
                                 float* to) {
  if (owner.ordinal() == session_.ordinal()) {
    return ToStatus(cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDeviceToDevice,
                                    session_.stream()),
                    "cudaMemcpyAsync");
  }
  ISO_RETURN_IF_ERROR(Connect(owner));
  return ToStatus(cudaMemcpyPeerAsync(to, session_.ordinal(), from, owner.ordinal(),
                                      count * sizeof(float), session_.stream()),
                  "cudaMemcpyPeerAsync");
}

int64_t SessionCopies::ViewsAtOnce(int64_t elements) {
  constexpr int64_t kStagingElements = int64_t{16} << 20;
  return std::max<int64_t>(1, kStagingElements / elements);
}

absl::StatusOr<SessionCopies::Rows> SessionCopies::Reach(const Stack& from, int64_t first_view,
                                                         int64_t views, RowRange rows) {
  const int64_t columns = from.shape().fast, height = from.shape().middle;
  if (from.session().ordinal() == session_.ordinal()) {
    return Rows{from.data() + (first_view * height + rows.first) * columns, height * columns};
  }
  ISO_RETURN_IF_ERROR(Connect(from.session()));
  ISO_RETURN_IF_ERROR(staging_.Reserve(views * rows.count * columns));
  const size_t pitch = columns * sizeof(float);
  cudaMemcpy3DPeerParms copy{};
  copy.srcDevice = from.session().ordinal();
  copy.srcPtr = {from.data() + first_view * height * columns, pitch, static_cast<size_t>(columns),
                 static_cast<size_t>(height)};
  copy.srcPos = {0, static_cast<size_t>(rows.first), 0};
  copy.dstDevice = session_.ordinal();
  copy.dstPtr = {staging_.data(), pitch, static_cast<size_t>(columns),
                 static_cast<size_t>(rows.count)};
  copy.extent = {pitch, static_cast<size_t>(rows.count), static_cast<size_t>(views)};
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpy3DPeerAsync(&copy, session_.stream()));
  return Rows{staging_.data(), rows.count * columns};
}

}  // namespace isocenter::cuda
