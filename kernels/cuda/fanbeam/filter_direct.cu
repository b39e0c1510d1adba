// The fan-beam filter term by term, in float64.
#include <algorithm>
#include <vector>

#include "kernels/cuda/fanbeam/methods.h"
#include "kernels/cuda/fanbeam/row_weights.h"

namespace isocenter::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int64_t kBatchRows = 1024;

struct Rows {
  const float* in;  // a copy: a block writes what others still read
  float* out;
  const float* weights;
  int64_t weight_stride;
  const double* kernel;  // h[0..channels-1]
  int channels;
  int slices;
  int64_t first;  // row of the batch within the stack
};

// A block makes kThreads channels of one row and goes over the row in tiles of as many.
__global__ void ConvolveKernel(Rows rows) {
  __shared__ double tile[kThreads];
  const int64_t row = blockIdx.y;
  const int channel = blockIdx.x * kThreads + threadIdx.x;
  const float* in = rows.in + row * rows.channels;
  const float* weights = rows.weights + (rows.first + row) / rows.slices * rows.weight_stride;
  double sum = 0;
  for (int begin = 0; begin < rows.channels; begin += kThreads) {
    const int from = begin + threadIdx.x;
    const float value = from < rows.channels ? in[from] : 0;
    tile[threadIdx.x] = from < rows.channels && isfinite(value) ? double{value} * weights[from] : 0;
    __syncthreads();
    const int count = min(kThreads, rows.channels - begin);
    if (channel < rows.channels) {
      for (int j = 0; j < count; ++j) sum += tile[j] * rows.kernel[abs(channel - begin - j)];
    }
    __syncthreads();
  }
  if (channel < rows.channels) rows.out[row * rows.channels + channel] = static_cast<float>(sum);
}

class FilterDirect final : public ops::FanBeamFilter {
 public:
  static absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> Create(
      CudaSession& session, const ops::FanBeamFilterSpec& spec) {
    ISO_RETURN_IF_ERROR(ops::CheckFanBeamFilter(spec));
    ISO_RETURN_IF_ERROR(session.MakeCurrent());
    auto made = std::unique_ptr<FilterDirect>(new FilterDirect(session, spec));
    const std::vector<double> kernel = ops::FanBeamKernel(spec);
    ISO_ASSIGN_OR_RETURN(made->weights_, FanBeamWeightTable::Create(session, spec.geometry));
    ISO_ASSIGN_OR_RETURN(made->kernel_, DeviceBuffer<double>::Create(
                                            session.memory(), static_cast<int64_t>(kernel.size())));
    ISO_ASSIGN_OR_RETURN(made->copy_,
                         DeviceBuffer<float>::Create(session.memory(), CopyCount(spec)));
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpy(made->kernel_.data(), kernel.data(),
                                        kernel.size() * sizeof(double), cudaMemcpyHostToDevice));
    return made;
  }

  static int64_t Bytes(const ops::FanBeamFilterSpec& spec) {
    return (FanBeamWeightTable::Count(spec.geometry) + CopyCount(spec)) * int64_t{sizeof(float)} +
           spec.geometry.channels * int64_t{sizeof(double)};
  }

  absl::Status DoRun(int first_view, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int channels = spec().geometry.channels;
    const int64_t slices = in->shape().middle, all = in->shape().slow * slices;
    for (int64_t first = 0; first < all; first += kBatchRows) {
      const int64_t count = std::min(kBatchRows, all - first);
      ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(copy_.data(), in->data() + first * channels,
                                               count * channels * sizeof(float),
                                               cudaMemcpyDeviceToDevice, session_.stream()));
      const Rows rows{.in = copy_.data(),
                      .out = out->data() + first * channels,
                      .weights = weights_.row(first_view),
                      .weight_stride = weights_.stride(),
                      .kernel = kernel_.data(),
                      .channels = channels,
                      .slices = static_cast<int>(slices),
                      .first = first};
      const dim3 grid((channels + kThreads - 1) / kThreads, static_cast<unsigned>(count));
      ConvolveKernel<<<grid, kThreads, 0, session_.stream()>>>(rows);
      ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "ConvolveKernel"));
    }
    return absl::OkStatus();
  }

 private:
  FilterDirect(CudaSession& session, const ops::FanBeamFilterSpec& spec)
      : FanBeamFilter(spec), session_(session) {}
  static int64_t CopyCount(const ops::FanBeamFilterSpec& spec) {
    return std::min(kBatchRows, int64_t{spec.geometry.views} * spec.slices) *
           spec.geometry.channels;
  }

  CudaSession& session_;
  FanBeamWeightTable weights_;
  DeviceBuffer<double> kernel_;
  DeviceBuffer<float> copy_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilterDirect(
    CudaSession& session, const ops::FanBeamFilterSpec& spec) {
  return FilterDirect::Create(session, spec);
}

int64_t FanBeamFilterDirectBytes(const ops::Extents&, const ops::FanBeamFilterSpec& spec) {
  return FilterDirect::Bytes(spec);
}

}  // namespace isocenter::cuda
