#include <algorithm>
#include <vector>

#include "kernels/gles/device.h"
#include "kernels/gles/methods.h"
#include "kernels/gles/program.h"

namespace isocenter::gles {
namespace {

constexpr int64_t kBatchRows = 4096;
constexpr int kInBinding = 0, kWeightsBinding = 1, kOutBinding = 2, kTapsBinding = 3;

constexpr char kWeigh[] = R"(
layout(std430, binding = 0) readonly buffer In { float rows[]; };
layout(std430, binding = 1) readonly buffer Weights { float weights[]; };
layout(std430, binding = 2) writeonly buffer Out { float weighted[]; };
uniform int rows_begin;
uniform int row_count;
uniform int channels;
uniform int slices;
uniform int first_slice;
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (at.x >= channels || at.y >= row_count) return;
  int place = at.y * channels + at.x;
  float value = rows[rows_begin + place] * weights[(first_slice + at.y) / slices * channels + at.x];
  // False for what is not finite.
  weighted[place] = abs(value) <= 3.402823e38 ? value : 0.0;
}
)";

// Hundreds of terms nearly cancel: they are added up in parts, whose sums round less often.
constexpr char kConvolve[] = R"(
layout(std430, binding = 0) readonly buffer In { float rows[]; };
layout(std430, binding = 2) writeonly buffer Out { float filtered[]; };
layout(std430, binding = 3) readonly buffer Taps { float taps[]; };
uniform int filtered_begin;
uniform int row_count;
uniform int channels;
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (at.x >= channels || at.y >= row_count) return;
  int row = at.y * channels;
  float sum = 0.0;
  for (int begin = 0; begin < channels; begin += 32) {
    float part = 0.0;
    int end = min(begin + 32, channels);
    for (int j = begin; j < end; ++j) part += rows[row + j] * taps[abs(at.x - j)];
    sum += part;
  }
  filtered[filtered_begin + row + at.x] = sum;
}
)";

class Filter final : public ops::FanBeamFilter {
 public:
  Filter(const GlesSession& session, const ops::FanBeamFilterSpec& spec, const Program& weigh,
         const Program& convolve, GraphicsBuffer taps)
      : FanBeamFilter(spec),
        context_(session.context()),
        weigh_(weigh),
        convolve_(convolve),
        row_weights_(spec.geometry),
        taps_(std::move(taps)),
        weights_(session.context(), session.budget()),
        weighted_(session.context(), session.budget()) {}

  absl::Status DoRun(int first_view, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    const Context::Current current(*context_);
    const int64_t channels = in->shape().fast, slices = in->shape().middle;
    const int64_t all = in->shape().slow * slices;
    for (int64_t first = 0; first < all; first += kBatchRows) {
      const int64_t count = std::min(kBatchRows, all - first);
      ISO_RETURN_IF_ERROR(Weigh(first_view, slices, first, count, *in));
      ISO_ASSIGN_OR_RETURN(const GraphicsBuffer* weighted, weighted_.Reserve(count * channels));
      convolve_.Use();
      weighted->Bind(kInBinding, 0, count * channels);
      taps_.Bind(kTapsBinding, 0, channels);
      convolve_.Set("filtered_begin",
                    out->values().Bind(kOutBinding, first * channels, count * channels));
      convolve_.Set("channels", static_cast<int>(channels));
      convolve_.Set("row_count", static_cast<int>(count));
      convolve_.Dispatch(channels, count);
    }
    context_->gl().Finish();
    return context_->Check("filtering");
  }

 private:
  absl::Status Weigh(int first_view, int64_t slices, int64_t first, int64_t count,
                     const Stack& in) {
    const int64_t channels = in.shape().fast;
    const int64_t view = first / slices, views = (first + count - 1) / slices - view + 1;
    std::vector<float> weights;
    weights.reserve(views * channels);
    std::vector<double> row(channels);
    for (int64_t v = view; v < view + views; ++v) {
      row_weights_.Row(static_cast<int>(first_view + v), row);
      weights.insert(weights.end(), row.begin(), row.end());
    }
    ISO_ASSIGN_OR_RETURN(GraphicsBuffer * on_device, weights_.Reserve(views * channels));
    ISO_RETURN_IF_ERROR(on_device->Upload(0, views * channels, weights.data()));
    ISO_ASSIGN_OR_RETURN(const GraphicsBuffer* weighted, weighted_.Reserve(count * channels));
    weigh_.Use();
    weigh_.Set("rows_begin", in.values().Bind(kInBinding, first * channels, count * channels));
    on_device->Bind(kWeightsBinding, 0, views * channels);
    weighted->Bind(kOutBinding, 0, count * channels);
    weigh_.Set("row_count", static_cast<int>(count));
    weigh_.Set("channels", static_cast<int>(channels));
    weigh_.Set("slices", static_cast<int>(slices));
    weigh_.Set("first_slice", static_cast<int>(first % slices));
    weigh_.Dispatch(channels, count);
    return absl::OkStatus();
  }

  const std::shared_ptr<Context> context_;
  const Program weigh_, convolve_;
  const ops::FanBeamRowWeights row_weights_;
  const GraphicsBuffer taps_;
  GraphicsScratch weights_, weighted_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilter(
    ops::Session& session, const ops::FanBeamFilterSpec& spec) {
  ISO_ASSIGN_OR_RETURN(GlesSession * own, AsGlesSession(session));
  ISO_RETURN_IF_ERROR(ops::CheckFanBeamFilter(spec));
  const Context& context = *own->context();
  const Context::Current current(context);
  ISO_ASSIGN_OR_RETURN(const Program weigh, Program::Compute(context, kWeigh));
  ISO_ASSIGN_OR_RETURN(const Program convolve, Program::Compute(context, kConvolve));
  const std::vector<double> kernel = ops::FanBeamKernel(spec);
  const std::vector<float> taps(kernel.begin(), kernel.end());
  const auto count = static_cast<int64_t>(taps.size());
  ISO_ASSIGN_OR_RETURN(GraphicsBuffer on_device,
                       GraphicsBuffer::Create(own->context(), own->budget(), count));
  ISO_RETURN_IF_ERROR(on_device.Upload(0, count, taps.data()));
  return std::make_unique<Filter>(*own, spec, weigh, convolve, std::move(on_device));
}

int64_t FanBeamFilterBytes(const ops::Device&, const ops::Extents& extents,
                           const ops::FanBeamFilterSpec&) {
  const Shape3& stack = extents.stack;
  const int64_t rows = std::min(kBatchRows, stack.slow * stack.middle);
  const int64_t views = std::min(stack.slow, rows / stack.middle + 2);
  return (stack.fast * (1 + rows + views)) * int64_t{sizeof(float)};
}

}  // namespace isocenter::gles
