// The fan-beam filter by cuFFT, float32.
#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/cuda/fanbeam/methods.h"
#include "kernels/cuda/fanbeam/row_weights.h"
#include "kernels/cuda/fdk/fft_plan.h"

namespace isocenter::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kBatchRows = 512;

int TransformLength(const ops::FanBeamFilterSpec& spec) {
  return ops::FanBeamPaddedLength(spec.geometry.channels);
}

int64_t BatchRows(const ops::FanBeamFilterSpec& spec) {
  return std::min(kBatchRows, int64_t{spec.geometry.views} * spec.slices);
}

// What the library takes for the two plans: as much as their rows and spectra.
int64_t PlansBytes(const ops::FanBeamFilterSpec& spec) {
  return 2 * BatchRows(spec) * (TransformLength(spec) + 2) * static_cast<int64_t>(sizeof(float));
}

struct Weighting {
  const float* weights;
  int64_t stride;
  int64_t first;  // row of the batch within the stack
  int slices;
};

__global__ void PadKernel(const float* rows, Weighting weighting, int channels, int n,
                          float* padded) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= n) return;
  const int64_t row = blockIdx.y;
  float value = at < channels ? rows[row * channels + at] : 0;
  if (at < channels) {
    const int64_t view = (weighting.first + row) / weighting.slices;
    value = isfinite(value) ? value * weighting.weights[view * weighting.stride + at] : 0;
  }
  padded[row * n + at] = value;
}

// `response` holds the kernel's transform over n, so that the unnormalized inverse returns the
// convolution.
__global__ void MultiplyKernel(cufftComplex* spectrum, const float* response, int frequencies) {
  const int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= frequencies) return;
  cufftComplex& value = spectrum[static_cast<int64_t>(blockIdx.y) * frequencies + f];
  value.x *= response[f];
  value.y *= response[f];
}

__global__ void CropKernel(const float* padded, int channels, int n, float* rows) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < channels) {
    rows[static_cast<int64_t>(blockIdx.y) * channels + at] =
        padded[static_cast<int64_t>(blockIdx.y) * n + at];
  }
}

class FilterCufft final : public ops::FanBeamFilter {
 public:
  static absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> Create(
      CudaSession& session, const ops::FanBeamFilterSpec& spec) {
    ISO_RETURN_IF_ERROR(ops::CheckFanBeamFilter(spec));
    ISO_RETURN_IF_ERROR(session.MakeCurrent());
    const int n = TransformLength(spec), frequencies = n / 2 + 1;
    const int64_t rows = BatchRows(spec);
    auto made = std::unique_ptr<FilterCufft>(new FilterCufft(session, spec));
    ISO_ASSIGN_OR_RETURN(made->plans_,
                         Reservation::Take(session.memory(), PlansBytes(spec), "cuFFT"));
    const auto batch = static_cast<int>(rows);
    ISO_ASSIGN_OR_RETURN(FftPlan forward, FftPlan::Create(n, batch, CUFFT_R2C, session.stream()));
    ISO_ASSIGN_OR_RETURN(FftPlan inverse, FftPlan::Create(n, batch, CUFFT_C2R, session.stream()));
    made->forward_.emplace(std::move(forward));
    made->inverse_.emplace(std::move(inverse));
    ISO_ASSIGN_OR_RETURN(made->weights_, FanBeamWeightTable::Create(session, spec.geometry));
    ISO_ASSIGN_OR_RETURN(made->padded_, DeviceBuffer<float>::Create(session.memory(), rows * n));
    ISO_ASSIGN_OR_RETURN(made->spectrum_,
                         DeviceBuffer<cufftComplex>::Create(session.memory(), rows * frequencies));
    ISO_ASSIGN_OR_RETURN(made->response_,
                         DeviceBuffer<float>::Create(session.memory(), frequencies));
    std::vector<float> scaled;
    for (const double value : ops::FanBeamResponse(spec, n)) {
      scaled.push_back(static_cast<float>(value / n));
    }
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpy(made->response_.data(), scaled.data(),
                                        scaled.size() * sizeof(float), cudaMemcpyHostToDevice));
    // Rows beyond the last of a batch are transformed too; they must hold numbers.
    ISO_RETURN_IF_CUDA_ERROR(cudaMemset(made->padded_.data(), 0, rows * n * sizeof(float)));
    return made;
  }

  static int64_t Bytes(const ops::FanBeamFilterSpec& spec) {
    const int64_t n = TransformLength(spec), frequencies = n / 2 + 1, rows = BatchRows(spec);
    return PlansBytes(spec) +
           (FanBeamWeightTable::Count(spec.geometry) + rows * n + frequencies) *
               int64_t{sizeof(float)} +
           rows * frequencies * int64_t{sizeof(cufftComplex)};
  }

  absl::Status DoRun(int first_view, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int channels = spec().geometry.channels;
    const int64_t slices = in->shape().middle, all = in->shape().slow * slices;
    for (int64_t first = 0; first < all; first += BatchRows(spec())) {
      const Weighting weighting{.weights = weights_.row(first_view),
                                .stride = weights_.stride(),
                                .first = first,
                                .slices = static_cast<int>(slices)};
      ISO_RETURN_IF_ERROR(
          FilterBatch(in->data() + first * channels, weighting,
                      static_cast<unsigned>(std::min(BatchRows(spec()), all - first)),
                      out->data() + first * channels));
    }
    return absl::OkStatus();
  }

 private:
  FilterCufft(CudaSession& session, const ops::FanBeamFilterSpec& spec)
      : FanBeamFilter(spec), session_(session) {}

  absl::Status FilterBatch(const float* in, const Weighting& weighting, unsigned rows, float* out) {
    const cudaStream_t stream = session_.stream();
    const int channels = spec().geometry.channels;
    const int n = TransformLength(spec()), frequencies = n / 2 + 1;
    const auto blocks = [](int count) { return (count + kThreads - 1) / kThreads; };
    PadKernel<<<dim3(blocks(n), rows), kThreads, 0, stream>>>(in, weighting, channels, n,
                                                              padded_.data());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    ISO_RETURN_IF_ERROR(forward_->Forward(padded_.data(), spectrum_.data()));
    MultiplyKernel<<<dim3(blocks(frequencies), rows), kThreads, 0, stream>>>(
        spectrum_.data(), response_.data(), frequencies);
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    ISO_RETURN_IF_ERROR(inverse_->Inverse(spectrum_.data(), padded_.data()));
    CropKernel<<<dim3(blocks(channels), rows), kThreads, 0, stream>>>(padded_.data(), channels, n,
                                                                      out);
    return ToStatus(cudaGetLastError(), "CropKernel");
  }

  CudaSession& session_;
  Reservation plans_;
  std::optional<FftPlan> forward_, inverse_;
  FanBeamWeightTable weights_;
  DeviceBuffer<float> padded_;
  DeviceBuffer<cufftComplex> spectrum_;
  DeviceBuffer<float> response_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilterCufft(
    CudaSession& session, const ops::FanBeamFilterSpec& spec) {
  return FilterCufft::Create(session, spec);
}

int64_t FanBeamFilterCufftBytes(const ops::Extents&, const ops::FanBeamFilterSpec& spec) {
  return FilterCufft::Bytes(spec);
}

}  // namespace isocenter::cuda
