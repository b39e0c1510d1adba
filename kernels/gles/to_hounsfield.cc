#include <algorithm>

#include "kernels/gles/device.h"
#include "kernels/gles/methods.h"
#include "kernels/gles/program.h"

namespace isocenter::gles {
namespace {

constexpr char kSource[] = R"(
layout(std430, binding = 0) buffer Voxels { float voxels[]; };
uniform int begin;
uniform int count;
uniform int row;
uniform float factor;
uniform float offset;
uniform float slope;
uniform int hinges;
uniform float at[30];
uniform float turn[30];
void main() {
  int place = int(gl_GlobalInvocationID.y) * row + int(gl_GlobalInvocationID.x);
  if (int(gl_GlobalInvocationID.x) >= row || place >= count) return;
  float measured = voxels[begin + place] * factor - 1000.0;
  float hounsfield = measured * slope + offset;
  for (int k = 0; k < hinges; ++k) hounsfield += turn[k] * max(0.0, measured - at[k]);
  // False for what is not finite.
  voxels[begin + place] = abs(measured) <= 3.402823e38 ? hounsfield : -1000.0;
}
)";

class ToHounsfield final : public ops::ToHounsfield {
 public:
  ToHounsfield(std::shared_ptr<Context> context, const Program& program)
      : context_(std::move(context)), program_(program) {}

  absl::Status DoRun(const ops::HounsfieldScale& scale, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Context::Current current(*context_);
    const ops::HounsfieldHinges hinges = ops::HingesOf(scale.table);
    program_.Use();
    program_.Set("factor", static_cast<float>(1000 / scale.mu_water_per_mm));
    program_.Set("offset", hinges.offset);
    program_.Set("slope", hinges.slope);
    program_.Set("hinges", hinges.count);
    program_.Set("at", hinges.at);
    program_.Set("turn", hinges.turn);
    constexpr int64_t kRow = 4096, kAtOnce = kRow * 4096;
    program_.Set("row", static_cast<int>(kRow));
    const int64_t voxels = target->grid().voxels();
    for (int64_t first = 0; first < voxels; first += kAtOnce) {
      const int64_t count = std::min(kAtOnce, voxels - first);
      program_.Set("begin", target->values().Bind(0, first, count));
      program_.Set("count", static_cast<int>(count));
      program_.Dispatch(kRow, (count + kRow - 1) / kRow);
    }
    context_->gl().Finish();
    return context_->Check("scaling to HU");
  }

 private:
  const std::shared_ptr<Context> context_;
  const Program program_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(GlesSession * own, AsGlesSession(session));
  const Context::Current current(*own->context());
  ISO_ASSIGN_OR_RETURN(const Program program, Program::Compute(*own->context(), kSource));
  return std::make_unique<ToHounsfield>(own->context(), program);
}

}  // namespace isocenter::gles
