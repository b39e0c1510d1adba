#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// What a thread needs of one view: ray = u·a + v·b + c of depth 1, and 1 / |m3|.
struct ViewGeometry {
  float a[3], b[3], c[3];
  float inverse_norm;
};

ViewGeometry MakeViewGeometry(const ProjectionMatrix& matrix) {
  const auto inverse = InverseLeft(matrix);
  ViewGeometry geometry;
  for (int row = 0; row < 3; ++row) {
    geometry.a[row] = static_cast<float>(inverse[row * 3]);
    geometry.b[row] = static_cast<float>(inverse[row * 3 + 1]);
    geometry.c[row] = static_cast<float>(inverse[row * 3 + 2]);
  }
  geometry.inverse_norm = static_cast<float>(1 / Norm({matrix(2, 0), matrix(2, 1), matrix(2, 2)}));
  return geometry;
}

__device__ float LineIntegral(uint16_t count, float lowest, float log_i0) {
  return log_i0 - logf(fmaxf(count, lowest));
}
__device__ float LineIntegral(float line, float, float) { return isfinite(line) ? line : 0.f; }

template <class Pixel>
__global__ void PreprocessKernel(const Pixel* frames, const ViewGeometry* geometry,
                                 const float* column_weight, int rows, int columns, float lowest,
                                 float log_i0, float* out) {
  const int u = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = blockIdx.y;
  const int view = blockIdx.z;
  if (u >= columns) return;
  const ViewGeometry g = geometry[view];
  const float x = fmaf(u, g.a[0], fmaf(v, g.b[0], g.c[0]));
  const float y = fmaf(u, g.a[1], fmaf(v, g.b[1], g.c[1]));
  const float z = fmaf(u, g.a[2], fmaf(v, g.b[2], g.c[2]));
  const float cosine = g.inverse_norm / sqrtf(x * x + y * y + z * z);
  const int64_t at = (static_cast<int64_t>(view) * rows + v) * columns + u;
  out[at] = LineIntegral(frames[at], lowest, log_i0) * cosine * column_weight[view * columns + u];
}

class Preprocess final : public ops::Preprocess {
 public:
  explicit Preprocess(CudaDevice& device) : device_(device) {}

  absl::Status Run(const ops::RawFrames& frames, const ops::CountRange& range,
                   std::span<const ops::ViewWeights> weights, ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out, ops::StackUse::kLineIntegrals));
    const Shape3 shape = frames.shape();
    ISO_RETURN_IF_ERROR(ops::CheckSlices("frames", 0, shape, stack->shape()));
    if (static_cast<int64_t>(weights.size()) != shape.slow) {
      return absl::InvalidArgumentError(
          absl::StrCat(weights.size(), " view weights for ", shape.slow, " frames"));
    }
    if (shape.slow == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    ISO_RETURN_IF_ERROR(UploadWeights(weights, shape.fast));
    if (frames.counts.data() != nullptr) return Launch(frames.counts, range, *stack);
    return Launch(frames.line_integrals, range, *stack);
  }

 private:
  absl::Status UploadWeights(std::span<const ops::ViewWeights> weights, int64_t columns) {
    geometry_host_.clear();
    column_weight_host_.clear();
    for (const ops::ViewWeights& view : weights) {
      if (static_cast<int64_t>(view.column_weight.size()) != columns) {
        return absl::InvalidArgumentError(
            absl::StrCat(view.column_weight.size(), " column weights for ", columns, " columns"));
      }
      geometry_host_.push_back(MakeViewGeometry(view.matrix));
      column_weight_host_.insert(column_weight_host_.end(), view.column_weight.begin(),
                                 view.column_weight.end());
    }
    ISO_RETURN_IF_ERROR(geometry_.Reserve(geometry_host_.size()));
    ISO_RETURN_IF_ERROR(column_weight_.Reserve(column_weight_host_.size()));
    // From pageable memory: staged by the driver before the call returns, so the vectors may change
    // at once.
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(geometry_.data(), geometry_host_.data(),
                                             geometry_host_.size() * sizeof(ViewGeometry),
                                             cudaMemcpyHostToDevice, device_.stream()));
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(column_weight_.data(), column_weight_host_.data(),
                                             column_weight_host_.size() * sizeof(float),
                                             cudaMemcpyHostToDevice, device_.stream()));
    return absl::OkStatus();
  }

  template <class Pixel>
  absl::Status Launch(HostView3<const Pixel> frames, const ops::CountRange& range, Stack& out) {
    const Shape3 shape = frames.shape();
    ISO_RETURN_IF_ERROR(raw_.Reserve(shape.count()));
    auto* raw = reinterpret_cast<Pixel*>(raw_.data());
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(raw, frames.data(), shape.count() * sizeof(Pixel),
                                             cudaMemcpyHostToDevice, device_.stream()));
    const dim3 block(256);
    const dim3 grid((shape.fast + block.x - 1) / block.x, shape.middle, shape.slow);
    PreprocessKernel<Pixel><<<grid, block, 0, device_.stream()>>>(
        raw, geometry_.data(), column_weight_.data(), shape.middle, shape.fast,
        static_cast<float>(range.lowest), static_cast<float>(std::log(range.i0)), out.data());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    return device_.Synchronize();  // the frames are the caller's again
  }

  CudaDevice& device_;
  std::vector<ViewGeometry> geometry_host_;
  std::vector<float> column_weight_host_;
  DeviceBuffer<ViewGeometry> geometry_;
  DeviceBuffer<float> column_weight_;
  DeviceBuffer<float> raw_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Preprocess>> NewPreprocess(CudaDevice& device) {
  return std::make_unique<Preprocess>(device);
}

}  // namespace isocenter::cuda
