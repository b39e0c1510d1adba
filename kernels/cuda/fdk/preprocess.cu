#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/fdk/methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

// What a thread needs of one view: ray = u·a + v·b + c of depth 1, and 1 / |m3|.
struct ViewGeometry {
  float a[3], b[3], c[3];
  float inverse_norm;
};

// Without the cosine weight every ray is the detector's normal.
ViewGeometry MakeViewGeometry(const ProjectionMatrix& matrix, bool cosine) {
  if (!cosine) return {.c = {1, 0, 0}, .inverse_norm = 1};
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

// The columns of a frame, and where they begin among those of the stack.
struct Columns {
  int of_frame, of_stack, first;
};

// kRun neighbouring values, loaded and stored as one: kRun divides the columns of frames and stack,
// and where those begin.
template <class Value, int kRun>
struct alignas(kRun * sizeof(Value)) Neighbours {
  Value of[kRun];
};

constexpr int kRunsOfBlock = 32, kRowsOfBlock = 8;

template <class Pixel, int kRun>
__global__ void PreprocessKernel(const Pixel* frames, int64_t frame_stride,
                                 const ViewGeometry* geometry, const float* column_weight, int rows,
                                 Columns columns, float lowest, float log_i0, float* out) {
  const int u_out = (blockIdx.x * kRunsOfBlock + threadIdx.x) * kRun;
  const int v = blockIdx.y * kRowsOfBlock + threadIdx.y;
  const int view = blockIdx.z;
  if (u_out >= columns.of_stack || v >= rows) return;
  using Values = Neighbours<float, kRun>;
  auto& result = *reinterpret_cast<Values*>(
      out + (static_cast<int64_t>(view) * rows + v) * columns.of_stack + u_out);
  const int u = u_out - columns.first;
  if (u < 0 || u >= columns.of_frame) {
    result = {};
    return;
  }
  const auto pixels = *reinterpret_cast<const Neighbours<Pixel, kRun>*>(
      frames + view * frame_stride + static_cast<int64_t>(v) * columns.of_frame + u);
  const auto weights =
      *reinterpret_cast<const Values*>(column_weight + view * columns.of_frame + u);
  const ViewGeometry g = geometry[view];
  Values values;
#pragma unroll
  for (int i = 0; i < kRun; ++i) {
    const float x = fmaf(u + i, g.a[0], fmaf(v, g.b[0], g.c[0]));
    const float y = fmaf(u + i, g.a[1], fmaf(v, g.b[1], g.c[1]));
    const float z = fmaf(u + i, g.a[2], fmaf(v, g.b[2], g.c[2]));
    const float cosine = g.inverse_norm * rsqrtf(x * x + y * y + z * z);
    values.of[i] = LineIntegral(pixels.of[i], lowest, log_i0) * cosine * weights.of[i];
  }
  result = values;
}

// What one call works with on the device.
struct Inputs {
  DeviceBuffer<std::byte> frames;
  DeviceBuffer<ViewGeometry> geometry;
  DeviceBuffer<float> column_weight;
  Event uploaded, consumed;

  static absl::StatusOr<Inputs> Create() {
    ISO_ASSIGN_OR_RETURN(Event uploaded, Event::Create(cudaEventDisableTiming));
    ISO_ASSIGN_OR_RETURN(Event consumed, Event::Create(cudaEventDisableTiming));
    return Inputs{.uploaded = std::move(uploaded), .consumed = std::move(consumed)};
  }
};

// Two sets of inputs: while the kernels work on one, the other is uploaded.
class Preprocess final : public ops::Preprocess {
 public:
  Preprocess(CudaSession& session, Inputs first, Inputs second)
      : session_(session), inputs_{std::move(first), std::move(second)} {}

  absl::Status DoRun(const ops::RawFrames& frames, const ops::CountRange& range,
                     std::span<const ops::ViewWeights> weights, int64_t first_column,
                     ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out));
    if (frames.shape().slow == 0) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    if (frames.counts) return Process(frames.counts, range, weights, first_column, *stack);
    return Process(frames.line_integrals, range, weights, first_column, *stack);
  }

  absl::Status DoWeigh(const ops::ProjectionStack& line_integrals, int64_t first_view,
                       RowRange rows, std::span<const ops::ViewWeights> weights,
                       int64_t first_column, ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(const Stack* source, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out));
    if (weights.empty()) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const Shape3& of = source->shape();
    ISO_ASSIGN_OR_RETURN(Inputs * inputs, NextInputs());
    ISO_RETURN_IF_ERROR(UploadWeights(weights, *stack, *inputs));
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(inputs->uploaded.get(), session_.upload_stream()));
    const Shape3 shape{static_cast<int64_t>(weights.size()), rows.count, of.fast};
    return Start(source->data() + (first_view * of.middle + rows.first) * of.fast,
                 of.middle * of.fast, shape, {}, first_column, *inputs, *stack);
  }

 private:
  // The set of inputs that no kernel reads.
  absl::StatusOr<Inputs*> NextInputs() {
    Inputs& inputs = inputs_[next_];
    next_ = 1 - next_;
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(session_.upload_stream(), inputs.consumed.get()));
    return &inputs;
  }

  template <class Pixel>
  absl::Status Process(StridedView3<const Pixel> frames, const ops::CountRange& range,
                       std::span<const ops::ViewWeights> weights, int64_t first_column,
                       Stack& out) {
    ISO_ASSIGN_OR_RETURN(Inputs * inputs, NextInputs());
    // Room for the largest chunk at once: growing would wait for the device.
    ISO_RETURN_IF_ERROR(
        inputs->frames.Reserve(session_.memory(), out.capacity().count() * sizeof(Pixel)));
    const cudaStream_t uploads = session_.upload_stream();
    const size_t span = session_.timeline().BeginIn(ops::Stage::kUpload, uploads);
    ISO_RETURN_IF_ERROR(UploadWeights(weights, out, *inputs));
    const Shape3 shape = frames.shape();
    const int64_t view_bytes = shape.middle * shape.fast * sizeof(Pixel);
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpy2DAsync(inputs->frames.data(), view_bytes, frames.row(0, 0),
                                               frames.slow_stride() * sizeof(Pixel), view_bytes,
                                               shape.slow, cudaMemcpyHostToDevice, uploads));
    session_.timeline().EndIn(span, uploads);
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(inputs->uploaded.get(), uploads));
    return Start(reinterpret_cast<const Pixel*>(inputs->frames.data()), shape.middle * shape.fast,
                 shape, range, first_column, *inputs, out);
  }

  // Weighs frames in device memory, `frame_stride` pixels apart.
  template <class Pixel>
  absl::Status Start(const Pixel* frames, int64_t frame_stride, const Shape3& shape,
                     const ops::CountRange& range, int64_t first_column, Inputs& inputs,
                     Stack& out) {
    const cudaStream_t kernels = session_.stream();
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(kernels, inputs.uploaded.get()));
    session_.timeline().BeginNow();
    const Columns columns{static_cast<int>(shape.fast), static_cast<int>(out.shape().fast),
                          static_cast<int>(first_column)};
    constexpr int kRun = 4;
    static_assert(ops::kColumnAlignment % kRun == 0);  // first_column
    const bool runs = columns.of_frame % kRun == 0 && columns.of_stack % kRun == 0;
    const auto kernel = runs ? PreprocessKernel<Pixel, kRun> : PreprocessKernel<Pixel, 1>;
    const auto blocks = [](int64_t count, int64_t of_block) {
      return static_cast<unsigned>((count + of_block - 1) / of_block);
    };
    const dim3 grid(blocks(columns.of_stack, kRunsOfBlock * (runs ? kRun : 1)),
                    blocks(shape.middle, kRowsOfBlock), shape.slow);
    kernel<<<grid, dim3(kRunsOfBlock, kRowsOfBlock), 0, kernels>>>(
        frames, frame_stride, inputs.geometry.data(), inputs.column_weight.data(), shape.middle,
        columns, static_cast<float>(range.lowest), static_cast<float>(std::log(range.i0)),
        out.data());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(inputs.consumed.get(), kernels));
    // The frames are the caller's again, and the staging memory free.
    return ToStatus(cudaEventSynchronize(inputs.uploaded.get()), "cudaEventSynchronize");
  }

  absl::Status UploadWeights(std::span<const ops::ViewWeights> weights, const Stack& out,
                             Inputs& inputs) {
    const Shape3& capacity = out.capacity();
    const size_t columns = weights.front().column_weight.size();
    ISO_RETURN_IF_ERROR(inputs.geometry.Reserve(session_.memory(), capacity.slow));
    ISO_RETURN_IF_ERROR(
        inputs.column_weight.Reserve(session_.memory(), capacity.slow * capacity.fast));
    const int64_t geometry_bytes = capacity.slow * sizeof(ViewGeometry);
    ISO_RETURN_IF_ERROR(
        staging_.Reserve(geometry_bytes + capacity.slow * capacity.fast * sizeof(float)));
    auto* geometry = reinterpret_cast<ViewGeometry*>(staging_.data());
    auto* column_weight = reinterpret_cast<float*>(staging_.data() + geometry_bytes);
    for (size_t view = 0; view < weights.size(); ++view) {
      const std::span<const float> given = weights[view].column_weight;
      geometry[view] = MakeViewGeometry(weights[view].matrix, weights[view].cosine);
      std::copy(given.begin(), given.end(), column_weight + view * columns);
    }
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(inputs.geometry.data(), geometry,
                                             weights.size() * sizeof(ViewGeometry),
                                             cudaMemcpyHostToDevice, session_.upload_stream()));
    return ToStatus(cudaMemcpyAsync(inputs.column_weight.data(), column_weight,
                                    weights.size() * columns * sizeof(float),
                                    cudaMemcpyHostToDevice, session_.upload_stream()),
                    "cudaMemcpyAsync");
  }

  CudaSession& session_;
  Inputs inputs_[2];
  int next_ = 0;
  PinnedBuffer staging_;  // geometry and column weights, on their way
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Preprocess>> NewPreprocess(CudaSession& session) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(Inputs first, Inputs::Create());
  ISO_ASSIGN_OR_RETURN(Inputs second, Inputs::Create());
  return std::make_unique<Preprocess>(session, std::move(first), std::move(second));
}

int64_t PreprocessBytes(const ops::Extents& extents) {
  // Two sets, of pixels of up to four bytes.
  const Shape3& stack = extents.stack;
  const auto of_view = static_cast<int64_t>(sizeof(ViewGeometry) + stack.fast * sizeof(float));
  return 2 * (stack.count() * int64_t{sizeof(float)} + stack.slow * of_view);
}

}  // namespace isocenter::cuda
