#include <algorithm>

#include "kernels/cuda/device/owners.h"
#include "kernels/cuda/published/layered_texture.h"
#include "tests/bench/cuda_ceilings.h"

namespace isocenter::bench {
namespace {

using cuda::DeviceBuffer;
using cuda::Event;
using cuda::PinnedBuffer;
using cuda::Stream;

constexpr int64_t kBytes = int64_t{512} << 20;
constexpr int kRepeats = 5;

constexpr int kSamplesPerThread = 4096;

__global__ void SampleOneTexel(cudaTextureObject_t texture, float u, float v, float step,
                               float* out) {
  float sum[4] = {};
  for (int i = 0; i < kSamplesPerThread / 4; ++i) {
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] += tex2DLayered<float>(texture, u + k * step, v, 0);
    u += step;  // no two samples are known to be the same
  }
  const float total = sum[0] + sum[1] + sum[2] + sum[3];
  if (total == 12345.f) out[0] = total;  // keeps the samples
}

// Best rate of `work`, which is started on `stream`, in units per second.
template <class Work>
absl::StatusOr<double> BestRate(cudaStream_t stream, double units, const Work& work) {
  ISO_ASSIGN_OR_RETURN(const Event begin, Event::Create(cudaEventDefault));
  ISO_ASSIGN_OR_RETURN(const Event end, Event::Create(cudaEventDefault));
  double best = 0;
  for (int i = 0; i <= kRepeats; ++i) {
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(begin.get(), stream));
    ISO_RETURN_IF_ERROR(work());
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(end.get(), stream));
    ISO_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    ISO_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    if (i > 0) best = std::max(best, units / (1e-3 * milliseconds));
  }
  return best;
}

absl::StatusOr<double> TextureRate(const Stream& stream, const cudaDeviceProp& properties,
                                   const DeviceBuffer<float>& scratch) {
  cuda::LayeredTexture texture;
  ISO_RETURN_IF_ERROR(texture.Fill(scratch.data(), 1, 16, 16, stream.get()));
  const int blocks = properties.multiProcessorCount * 16, threads = 256;
  return BestRate(stream.get(), double{1} * blocks * threads * kSamplesPerThread, [&] {
    SampleOneTexel<<<blocks, threads, 0, stream.get()>>>(texture.texture(), 8.f, 8.f, 1e-6f,
                                                         scratch.data());
    return cuda::ToStatus(cudaGetLastError(), "SampleOneTexel");
  });
}

}  // namespace

absl::StatusOr<CudaCeilings> MeasureCudaCeilings() {
  cudaDeviceProp properties;
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, 0));
  int clock_khz = 0;
  ISO_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
  ISO_RETURN_IF_CUDA_ERROR(cudaSetDevice(0));
  ISO_ASSIGN_OR_RETURN(const Stream up, Stream::Create(/*urgent=*/false));
  ISO_ASSIGN_OR_RETURN(const Stream down, Stream::Create(/*urgent=*/false));
  ISO_ASSIGN_OR_RETURN(const PinnedBuffer from, PinnedBuffer::Create(kBytes));
  ISO_ASSIGN_OR_RETURN(const PinnedBuffer to, PinnedBuffer::Create(kBytes));
  ISO_ASSIGN_OR_RETURN(const auto first, DeviceBuffer<float>::Create(kBytes / 4));
  ISO_ASSIGN_OR_RETURN(const auto second, DeviceBuffer<float>::Create(kBytes / 4));
  const auto upload = [&] {
    return cuda::ToStatus(
        cudaMemcpyAsync(first.data(), from.data(), kBytes, cudaMemcpyHostToDevice, up.get()),
        "upload");
  };
  const auto download = [&] {
    return cuda::ToStatus(
        cudaMemcpyAsync(to.data(), second.data(), kBytes, cudaMemcpyDeviceToHost, down.get()),
        "download");
  };
  ISO_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(second.data(), 0, kBytes, up.get()));
  ISO_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(first.data(), 0, kBytes, up.get()));
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(up.get()));

  constexpr double kGigabytes = 1e-9 * kBytes;
  CudaCeilings ceilings{.clock_mhz = 1e-3 * clock_khz};
  ISO_ASSIGN_OR_RETURN(ceilings.upload_gb_s, BestRate(up.get(), kGigabytes, upload));
  ISO_ASSIGN_OR_RETURN(ceilings.download_gb_s, BestRate(down.get(), kGigabytes, download));
  // Each direction while the other one is kept busy.
  const auto beside = [](const auto& measured, const auto& other) {
    return [&measured, &other]() -> absl::Status {
      ISO_RETURN_IF_ERROR(other());
      ISO_RETURN_IF_ERROR(other());
      return measured();
    };
  };
  ISO_ASSIGN_OR_RETURN(ceilings.upload_beside_gb_s,
                       BestRate(up.get(), kGigabytes, beside(upload, download)));
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(down.get()));
  ISO_ASSIGN_OR_RETURN(ceilings.download_beside_gb_s,
                       BestRate(down.get(), kGigabytes, beside(download, upload)));
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(up.get()));
  ISO_ASSIGN_OR_RETURN(ceilings.device_copy_gb_s, BestRate(up.get(), 2 * kGigabytes, [&] {
                         return cuda::ToStatus(cudaMemcpyAsync(second.data(), first.data(), kBytes,
                                                               cudaMemcpyDeviceToDevice, up.get()),
                                               "device copy");
                       }));
  ISO_ASSIGN_OR_RETURN(const double samples, TextureRate(up, properties, second));
  ceilings.texture_gsamples_s = 1e-9 * samples;
  return ceilings;
}

}  // namespace isocenter::bench
