#include "tests/bench/graphics/bench.h"

#ifdef ISOCENTER_HAS_GLES
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/gles/program.h"
#include "kernels/ops/memory_budget.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/machine.h"
#include "tests/bench/summary.h"
#endif

namespace isocenter::bench {

#ifdef ISOCENTER_HAS_GLES

namespace {

using gles::Context;
using gles::Program;
using gles::Texture;

constexpr int kImageBinding = 0, kRowsUnit = 0, kTargetUnit = 1;
constexpr int kWidth = 740, kHeight = 288;  // of the texture: filtered rows of a quarter's views
constexpr int kStepsOfSample = 16;

constexpr char kHeader[] = R"(
precision highp sampler2D;
uniform sampler2D rows;
uniform int steps;
)";

// Four sums, so that no multiplication waits for the one before.
constexpr char kArithmetic[] = R"(
float Value(vec2 at) {
  vec4 a = vec4(at, at.yx) * 1e-3;
  for (int i = 0; i < steps; i += 4) a = a * 0.999 + 1e-3;
  return a.x + a.y + a.z + a.w;
}
)";

// Along rows, as pixels of a back-projection look at them.
constexpr char kSamples[] = R"(
float Value(vec2 at) {
  float sum = 0.0;
  for (int v = 0; v < steps; ++v) {
    vec2 place = vec2(0.6 * at.x + 0.1 * at.y + 0.5, float(v % 288) + 0.5);
    sum += textureLod(rows, place / vec2(740.0, 288.0), 0.0).r;
  }
  return sum;
}
)";

constexpr char kFragment[] = R"(
out vec4 color;
void main() { color = vec4(Value(floor(gl_FragCoord.xy))); }
)";

constexpr char kCompute[] = R"(
layout(std430, binding = 0) buffer Image { float image[]; };
uniform int width;
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (at.x < width && at.y < width) image[at.y * width + at.x] = Value(vec2(at));
}
)";

absl::StatusOr<Summary> Times(const Context& context, int repeats,
                              const std::function<void()>& start) {
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {
    const absl::Time begin = absl::Now();
    start();
    context.gl().Finish();
    if (i > 0) seconds.push_back(absl::ToDoubleSeconds(absl::Now() - begin));
  }
  ISO_RETURN_IF_ERROR(context.Check("measuring shaders"));
  return Summarize(seconds);
}

// By a triangle over a texture of float32.
absl::StatusOr<Summary> TimeFragments(const Context& context, const std::string& value,
                                      const GraphicsOptions& o, int steps) {
  const gles::Functions& gl = context.gl();
  ISO_ASSIGN_OR_RETURN(const Program program,
                       Program::Fragment(context, absl::StrCat(kHeader, value, kFragment)));
  const Texture target(gl, kTargetUnit, GL_R32F, o.size, o.size, GL_NEAREST, nullptr);
  GLuint frame = 0;
  gl.GenFramebuffers(1, &frame);
  gl.BindFramebuffer(GL_FRAMEBUFFER, frame);
  gl.FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target.id(), 0);
  program.Use();
  program.Set("rows", kRowsUnit);
  program.Set("steps", steps);
  gl.Viewport(0, 0, o.size, o.size);
  const absl::StatusOr<Summary> times =
      Times(context, o.repeats, [&] { gl.DrawArrays(GL_TRIANGLES, 0, 3); });
  gl.BindFramebuffer(GL_FRAMEBUFFER, 0);
  gl.DeleteFramebuffers(1, &frame);
  return times;
}

absl::StatusOr<Summary> TimeCompute(const std::shared_ptr<Context>& context,
                                    const std::string& value, const GraphicsOptions& o, int steps) {
  ISO_ASSIGN_OR_RETURN(const Program program,
                       Program::Compute(*context, absl::StrCat(kHeader, value, kCompute)));
  const int64_t pixels = int64_t{o.size} * o.size;
  ISO_ASSIGN_OR_RETURN(const gles::GraphicsBuffer image,
                       gles::GraphicsBuffer::Create(
                           context, std::make_shared<ops::MemoryBudget>(int64_t{1} << 40), pixels));
  program.Use();
  program.Set("rows", kRowsUnit);
  program.Set("steps", steps);
  program.Set("width", o.size);
  image.Bind(kImageBinding, 0, pixels);
  return Times(*context, o.repeats, [&] { program.Dispatch(o.size, o.size); });
}

}  // namespace

absl::Status RunGraphics(const GraphicsOptions& options) {
  ISO_ASSIGN_OR_RETURN(auto made, Context::Create());
  const std::shared_ptr<Context> context = std::move(made);
  const Context::Current current(*context);
  std::printf("%s, commit %s\n", context->renderer().c_str(), Commit().c_str());
  const std::vector<float> texels(size_t{kWidth} * kHeight, 0.5f);
  const Texture rows(context->gl(), kRowsUnit, GL_R32F, kWidth, kHeight, GL_LINEAR, texels.data());
  FigureTable table(
      {"what", "fragments ms", "range", "G/s", "compute ms", "range", "G/s", "ratio"});
  const struct {
    const char *name, *value;
    int steps;
  } works[] = {{"multiply, add", kArithmetic, options.steps},
               {"samples of R32F", kSamples, options.steps / kStepsOfSample}};
  const double pixels = double(options.size) * options.size;
  for (const auto& work : works) {
    ISO_ASSIGN_OR_RETURN(const Summary drawn,
                         TimeFragments(*context, work.value, options, work.steps));
    ISO_ASSIGN_OR_RETURN(const Summary computed,
                         TimeCompute(context, work.value, options, work.steps));
    const auto ms = [](double seconds) { return absl::StrFormat("%.3f", 1e3 * seconds); };
    const auto rate = [&](const Summary& seconds) {
      return absl::StrFormat("%.1f", pixels * work.steps / seconds.median * 1e-9);
    };
    table.Add({work.name, ms(drawn.median), absl::StrCat(ms(drawn.least), "-", ms(drawn.most)),
               rate(drawn), ms(computed.median),
               absl::StrCat(ms(computed.least), "-", ms(computed.most)), rate(computed),
               absl::StrFormat("%.1f", drawn.median / computed.median)});
  }
  table.Print("The same work by fragments and by a compute shader");
  return absl::OkStatus();
}

#else

absl::Status RunGraphics(const GraphicsOptions&) {
  return absl::UnavailableError("this build has no graphics backend");
}

#endif

}  // namespace isocenter::bench
