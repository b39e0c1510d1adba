#include "kernels/cuda/device/transfers.h"

#include <memory>
#include <utility>

#include "kernels/cuda/device/session.h"

namespace isocenter::cuda {
namespace {

// Owns what it calls. CUDA calls it once, or never when the context is lost: then the function
// stays behind, since nobody can tell any more whether it is being called.
void CUDART_CB CallAndDelete(void* function) {
  const std::unique_ptr<std::function<void()>> call(static_cast<std::function<void()>*>(function));
  (*call)();
}

}  // namespace

absl::StatusOr<Transfers> Transfers::Create() {
  ISO_ASSIGN_OR_RETURN(Event computed, Event::Create(cudaEventDisableTiming));
  ISO_ASSIGN_OR_RETURN(Event uploaded, Event::Create(cudaEventDisableTiming));
  ISO_ASSIGN_OR_RETURN(Event downloaded, Event::Create(cudaEventDisableTiming));
  return Transfers(std::move(computed), std::move(uploaded), std::move(downloaded));
}

absl::Status Transfers::StartUpload(CudaSession& session, HostView3<const float> from, float* to) {
  const cudaStream_t stream = session.upload_stream();
  ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(computed_.get(), session.stream()));
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream, computed_.get()));
  if (downloading_) ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream, downloaded_.get()));
  const size_t span = session.timeline().BeginIn(ops::Stage::kUpload, stream);
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to, from.data(), from.shape().count() * sizeof(float),
                                           cudaMemcpyHostToDevice, stream));
  session.timeline().EndIn(span, stream);
  ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(uploaded_.get(), stream));
  uploading_ = true;
  return absl::OkStatus();
}

absl::Status Transfers::StartDownload(CudaSession& session, const float* from, HostView3<float> to,
                                      std::function<void()> arrived) {
  const cudaStream_t stream = session.download_stream();
  ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(computed_.get(), session.stream()));
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream, computed_.get()));
  if (uploading_) ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream, uploaded_.get()));
  const size_t span = session.timeline().BeginIn(ops::Stage::kDownload, stream);
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to.data(), from, to.shape().count() * sizeof(float),
                                           cudaMemcpyDeviceToHost, stream));
  session.timeline().EndIn(span, stream);
  ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(downloaded_.get(), stream));
  downloading_ = true;
  if (arrived == nullptr) return absl::OkStatus();
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(session.arrival_stream(), downloaded_.get()));
  auto call = std::make_unique<std::function<void()>>(std::move(arrived));
  ISO_RETURN_IF_CUDA_ERROR(cudaLaunchHostFunc(session.arrival_stream(), CallAndDelete, call.get()));
  call.release();
  return absl::OkStatus();
}

absl::Status Transfers::WaitForUploads(const CudaSession& session) {
  if (!uploading_) return absl::OkStatus();
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(session.stream(), uploaded_.get()));
  uploading_ = false;
  return absl::OkStatus();
}

absl::Status Transfers::WaitForCopies(const CudaSession& session) {
  ISO_RETURN_IF_ERROR(WaitForUploads(session));
  if (!downloading_) return absl::OkStatus();
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(session.stream(), downloaded_.get()));
  downloading_ = false;
  return absl::OkStatus();
}

}  // namespace isocenter::cuda
