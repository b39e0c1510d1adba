#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/gles/device.h"
#include "kernels/gles/methods.h"
#include "kernels/gles/program.h"

namespace isocenter::gles {
namespace {

constexpr int kGroup = 64;
constexpr int64_t kBatchRows = 1024;

// Hundreds of terms nearly cancel: they are added up in parts, whose sums round less often.
constexpr char kSource[] = R"(
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Rows { float rows[]; };
layout(std430, binding = 1) readonly buffer Taps { float taps[]; };
layout(std430, binding = 2) writeonly buffer Filtered { float filtered[]; };
uniform int channels;
void main() {
  int channel = int(gl_GlobalInvocationID.x);
  if (channel >= channels) return;
  int row = int(gl_WorkGroupID.y) * channels;
  float sum = 0.0;
  for (int begin = 0; begin < channels; begin += 32) {
    float part = 0.0;
    int end = min(begin + 32, channels);
    for (int j = begin; j < end; ++j) part += rows[row + j] * taps[abs(channel - j)];
    sum += part;
  }
  filtered[row + channel] = sum;
}
)";

class Filter final : public ops::FanBeamFilter {
 public:
  Filter(std::shared_ptr<Context> context, const ops::FanBeamFilterSpec& spec,
         const Program& program)
      : FanBeamFilter(spec),
        context_(std::move(context)),
        program_(program),
        weights_(spec.geometry) {
    for (const double value : ops::FanBeamKernel(spec)) {
      kernel_.push_back(static_cast<float>(value));
    }
  }

  absl::Status DoRun(int first_view, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    const Context::Current current(*context_);
    const Functions& gl = context_->gl();
    const int64_t channels = in->shape().fast, slices = in->shape().middle;
    const int64_t all = in->shape().slow * slices;
    const StorageBuffer kernel(gl, 1, channels, kernel_.data());
    program_.Use();
    program_.Set("channels", static_cast<int>(channels));
    std::vector<double> weights(channels);
    for (int64_t first = 0; first < all; first += kBatchRows) {
      const int64_t count = std::min(kBatchRows, all - first);
      std::vector<float> weighted(count * channels);
      for (int64_t row = 0; row < count; ++row) {
        weights_.Row(static_cast<int>(first_view + (first + row) / slices), weights);
        const float* from = in->view().data() + (first + row) * channels;
        for (int64_t c = 0; c < channels; ++c) {
          const double value = from[c] * weights[c];
          weighted[row * channels + c] = std::isfinite(value) ? static_cast<float>(value) : 0;
        }
      }
      const StorageBuffer rows(gl, 0, count * channels, weighted.data());
      const StorageBuffer sums(gl, 2, count * channels, nullptr);
      gl.DispatchCompute(static_cast<GLuint>((channels + kGroup - 1) / kGroup),
                         static_cast<GLuint>(count), 1);
      const float* const made = sums.Map(count * channels);
      ISO_RETURN_IF_ERROR(context_->Check("filtering"));
      if (made == nullptr) return absl::InternalError("a graphics buffer cannot be mapped");
      std::copy_n(made, count * channels, out->view().data() + first * channels);
      sums.Unmap();
    }
    return context_->Check("filtering");
  }

 private:
  const std::shared_ptr<Context> context_;
  const Program program_;
  const ops::FanBeamRowWeights weights_;
  std::vector<float> kernel_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilter(
    ops::Session& session, const ops::FanBeamFilterSpec& spec) {
  ISO_ASSIGN_OR_RETURN(GlesSession * own, AsGlesSession(session));
  ISO_RETURN_IF_ERROR(ops::CheckFanBeamFilter(spec));
  const Context::Current current(*own->context());
  ISO_ASSIGN_OR_RETURN(const Program program, Program::Compute(*own->context(), kSource));
  return std::make_unique<Filter>(own->context(), spec, program);
}

}  // namespace isocenter::gles
