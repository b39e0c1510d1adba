// The ramp filter by cuFFT, for rows of any length.
#include <algorithm>
#include <vector>

#include "kernels/cuda/fdk/cut_row.cuh"
#include "kernels/cuda/fdk/fft_plan.h"
#include "kernels/cuda/fdk/methods.h"
#include "kernels/cuda/fdk/row_transform.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// Views (of the spec's rows) that are transformed at once: enough rows to fill the device, few
// enough to stay in its cache.
constexpr int kBatchViews = 4;

// cuFFT is fastest for products of 2, 3, 5 and 7.
int GoodLength(int least) {
  for (int n = (least + 1) / 2 * 2;; n += 2) {
    int rest = n;
    for (int p : {2, 3, 5, 7}) {
      while (rest % p == 0) rest /= p;
    }
    if (rest == 1) return n;
  }
}

int64_t RowsOfBatch(const ops::RampFilterSpec& spec) { return int64_t{kBatchViews} * spec.rows; }

// What the library takes for the two plans: as much as their rows and spectra.
int64_t PlansBytes(int64_t rows, int64_t n) {
  return 2 * rows * (n + 2) * static_cast<int64_t>(sizeof(float));
}

// Rows into the transform's padded rows, zeros behind.
template <ops::Truncation kMethod>
__global__ void PadKernel(const float* rows, int columns, CylinderFit cylinder, int n,
                          float* padded) {
  __shared__ EdgeParabola edges[2];
  const float* pixels = rows + static_cast<int64_t>(blockIdx.y) * columns;
  if (kMethod == ops::Truncation::kCylinder) {
    __shared__ RowParabola fits[1];
    FitCylinders({pixels}, columns, cylinder, edges, fits);
  }
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= n) return;
  padded[static_cast<int64_t>(blockIdx.y) * n + at] =
      PreparedPixel<kMethod>({pixels, columns, cylinder.extension, edges}, at - cylinder.extension);
}

// `response` holds the kernel's transform over n, so that the unnormalised inverse returns the
// convolution.
__global__ void MultiplyKernel(cufftComplex* spectrum, const float* response, int frequencies) {
  const int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= frequencies) return;
  cufftComplex& value = spectrum[static_cast<int64_t>(blockIdx.y) * frequencies + f];
  value.x *= response[f];
  value.y *= response[f];
}

__global__ void CropKernel(const float* padded, int columns, int extension, int n, float* rows) {
  const int u = blockIdx.x * blockDim.x + threadIdx.x;
  if (u >= columns) return;
  rows[static_cast<int64_t>(blockIdx.y) * columns + u] =
      padded[static_cast<int64_t>(blockIdx.y) * n + extension + u];
}

class RampFilterCufft final : public ops::RampFilter {
 public:
  static absl::StatusOr<std::unique_ptr<ops::RampFilter>> Create(CudaSession& session,
                                                                 const ops::RampFilterSpec& spec) {
    ISO_RETURN_IF_ERROR(ops::CheckRampFilter(spec));
    ISO_RETURN_IF_ERROR(session.MakeCurrent());
    const int n = GoodLength(ops::MinimumTransformLength(spec));
    const int64_t rows = RowsOfBatch(spec);
    ISO_ASSIGN_OR_RETURN(Reservation plans,
                         Reservation::Take(session.memory(), PlansBytes(rows, n), "cuFFT"));
    ISO_ASSIGN_OR_RETURN(FftPlan forward, FftPlan::Create(n, rows, CUFFT_R2C, session.stream()));
    ISO_ASSIGN_OR_RETURN(FftPlan inverse, FftPlan::Create(n, rows, CUFFT_C2R, session.stream()));
    ISO_ASSIGN_OR_RETURN(auto padded, DeviceBuffer<float>::Create(session.memory(), rows * n));
    ISO_ASSIGN_OR_RETURN(auto spectrum,
                         DeviceBuffer<cufftComplex>::Create(session.memory(), rows * (n / 2 + 1)));
    ISO_ASSIGN_OR_RETURN(auto response, DeviceBuffer<float>::Create(session.memory(), n / 2 + 1));
    std::vector<float> scaled;
    for (double value : ops::RampFilterResponse(spec, n))
      scaled.push_back(static_cast<float>(value / n));
    // Rows beyond the last view of a batch are transformed too; they must hold numbers.
    ISO_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(padded.data(), 0, rows * n * sizeof(float), session.stream()));
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(response.data(), scaled.data(),
                                             scaled.size() * sizeof(float), cudaMemcpyHostToDevice,
                                             session.stream()));
    ISO_RETURN_IF_ERROR(session.Synchronize());
    return std::unique_ptr<ops::RampFilter>(new RampFilterCufft(
        session, spec, n, std::move(plans), std::move(forward), std::move(inverse),
        std::move(padded), std::move(spectrum), std::move(response)));
  }

  absl::Status DoRun(int views, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int64_t rows = views * in->shape().middle, batch = RowsOfBatch(spec());
    for (int64_t first = 0; first < rows; first += batch) {
      ISO_RETURN_IF_ERROR(FilterBatch(std::min(batch, rows - first),
                                      in->data() + first * spec().columns,
                                      out->data() + first * spec().columns));
    }
    return absl::OkStatus();
  }

 private:
  RampFilterCufft(CudaSession& session, const ops::RampFilterSpec& spec, int n, Reservation plans,
                  FftPlan forward, FftPlan inverse, DeviceBuffer<float> padded,
                  DeviceBuffer<cufftComplex> spectrum, DeviceBuffer<float> response)
      : RampFilter(spec),
        session_(session),
        n_(n),
        plans_(std::move(plans)),
        forward_(std::move(forward)),
        inverse_(std::move(inverse)),
        padded_(std::move(padded)),
        spectrum_(std::move(spectrum)),
        response_(std::move(response)) {}

  absl::Status FilterBatch(unsigned rows, const float* in, float* out) {
    const cudaStream_t stream = session_.stream();
    const int extension = ops::ExtensionLength(spec());
    const int frequencies = n_ / 2 + 1;
    constexpr unsigned kThreads = 256;
    const auto blocks = [](int count) { return (count + kThreads - 1) / kThreads; };
    WithTruncation(spec().truncation, [&](auto method) {
      PadKernel<decltype(method)::value><<<dim3(blocks(n_), rows), kThreads, 0, stream>>>(
          in, spec().columns, CylinderFit::Of(spec()), n_, padded_.data());
    });
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    ISO_RETURN_IF_ERROR(forward_.Forward(padded_.data(), spectrum_.data()));
    MultiplyKernel<<<dim3(blocks(frequencies), rows), kThreads, 0, stream>>>(
        spectrum_.data(), response_.data(), frequencies);
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    ISO_RETURN_IF_ERROR(inverse_.Inverse(spectrum_.data(), padded_.data()));
    CropKernel<<<dim3(blocks(spec().columns), rows), kThreads, 0, stream>>>(
        padded_.data(), spec().columns, extension, n_, out);
    return ToStatus(cudaGetLastError(), "CropKernel");
  }

  CudaSession& session_;
  int n_;
  Reservation plans_;
  FftPlan forward_, inverse_;
  DeviceBuffer<float> padded_;
  DeviceBuffer<cufftComplex> spectrum_;
  DeviceBuffer<float> response_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterCufft(
    CudaSession& session, const ops::RampFilterSpec& spec) {
  return RampFilterCufft::Create(session, spec);
}

int64_t RampFilterCufftBytes(const ops::Extents&, const ops::RampFilterSpec& spec) {
  const int64_t n = GoodLength(ops::MinimumTransformLength(spec));
  const int64_t rows = RowsOfBatch(spec);
  return PlansBytes(rows, n) + rows * n * int64_t{sizeof(float)} +
         rows * (n / 2 + 1) * int64_t{sizeof(cufftComplex)} + (n / 2 + 1) * int64_t{sizeof(float)};
}

}  // namespace isocenter::cuda
