#include <utility>
#include <vector>

#include "kernels/cuda/corrections/methods.h"
#include "kernels/cuda/device/turned_uploads.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// What a pixel's count loses, and what is left is multiplied with.
struct Response {
  float offset, inverse_air;
};

// Pixels side by side that a thread reads and writes in one piece. Where a frame's pixels are a
// multiple of it, each frame begins on such a piece.
constexpr int kNeighbours = 2;
template <class Value, int kWide>
struct alignas(kWide * sizeof(Value)) Neighbours {
  Value value[kWide];
};

// A thread has kWide neighbouring pixels of all frames: their responses are read once.
template <int kWide>
__global__ void NormalizeKernel(const Neighbours<uint16_t, kWide>* __restrict__ counts,
                                const Neighbours<Response, kWide>* __restrict__ responses,
                                int groups, int views, Neighbours<float, kWide>* __restrict__ out) {
  const int group = blockIdx.x * blockDim.x + threadIdx.x;
  if (group >= groups) return;
  const Neighbours<Response, kWide> response = responses[group];
#pragma unroll 8
  for (int view = 0; view < views; ++view) {
    const int64_t at = static_cast<int64_t>(view) * groups + group;
    const Neighbours<uint16_t, kWide> count = counts[at];
    Neighbours<float, kWide> normalized;
#pragma unroll
    for (int k = 0; k < kWide; ++k) {
      normalized.value[k] = (static_cast<float>(count.value[k]) - response.value[k].offset) *
                            response.value[k].inverse_air;
    }
    out[at] = normalized;
  }
}

template <int kWide>
void Launch(const std::byte* counts, const Response* responses, int pixels, int views, float* out,
            cudaStream_t stream) {
  const int groups = pixels / kWide;
  NormalizeKernel<kWide><<<(groups + 255) / 256, 256, 0, stream>>>(
      reinterpret_cast<const Neighbours<uint16_t, kWide>*>(counts),
      reinterpret_cast<const Neighbours<Response, kWide>*>(responses), groups, views,
      reinterpret_cast<Neighbours<float, kWide>*>(out));
}

class NormalizeCounts final : public ops::NormalizeCounts {
 public:
  NormalizeCounts(CudaSession& session, const Detector& detector, DeviceBuffer<Response> responses,
                  TurnedUploads counts)
      : ops::NormalizeCounts(detector),
        session_(session),
        responses_(std::move(responses)),
        counts_(std::move(counts)) {}

 private:
  absl::Status DoRun(StridedView3<const uint16_t> counts, ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out));
    const Shape3 shape = counts.shape();
    if (shape.slow == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    ISO_ASSIGN_OR_RETURN(std::byte * place,
                         counts_.Begin(stack->capacity().count() * int64_t{sizeof(uint16_t)}));
    const cudaStream_t uploads = session_.upload_stream();
    const size_t span = session_.timeline().BeginIn(ops::Stage::kUpload, uploads);
    const int64_t frame_bytes = shape.middle * shape.fast * int64_t{sizeof(uint16_t)};
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpy2DAsync(place, frame_bytes, counts.row(0, 0),
                                               counts.slow_stride() * sizeof(uint16_t), frame_bytes,
                                               shape.slow, cudaMemcpyHostToDevice, uploads));
    session_.timeline().EndIn(span, uploads);
    ISO_RETURN_IF_ERROR(counts_.Ready());
    session_.timeline().BeginNow();
    const int pixels = static_cast<int>(shape.middle * shape.fast);
    (pixels % kNeighbours == 0 ? Launch<kNeighbours> : Launch<1>)(place, responses_.data(), pixels,
                                                                  static_cast<int>(shape.slow),
                                                                  stack->data(), session_.stream());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    return counts_.Read();
  }

  CudaSession& session_;
  const DeviceBuffer<Response> responses_;
  TurnedUploads counts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::NormalizeCounts>> NewNormalizeCounts(
    CudaSession& session, const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const std::vector<float>& offset = calibration.response->offset_counts;
  const std::vector<float>& air = calibration.response->air_counts;
  std::vector<Response> responses(offset.size());
  for (size_t i = 0; i < offset.size(); ++i) responses[i] = {offset[i], 1 / air[i]};
  ISO_ASSIGN_OR_RETURN(auto on_device,
                       DeviceBuffer<Response>::Create(session.memory(), responses.size()));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaMemcpy(on_device.data(), responses.data(), on_device.bytes(), cudaMemcpyHostToDevice));
  ISO_ASSIGN_OR_RETURN(TurnedUploads counts, TurnedUploads::Create(session));
  return std::make_unique<NormalizeCounts>(session, calibration.detector, std::move(on_device),
                                           std::move(counts));
}

int64_t NormalizeCountsBytes(const ops::Extents& extents, const ops::Calibration& calibration) {
  const int64_t pixels = int64_t{calibration.detector.rows} * calibration.detector.columns;
  return pixels * int64_t{sizeof(Response)} +
         2 * extents.stack.slow * pixels * int64_t{sizeof(uint16_t)};
}

}  // namespace isocenter::cuda
