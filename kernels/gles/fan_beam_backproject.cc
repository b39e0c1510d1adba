#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/geometry/arctangent_polynomial.h"
#include "kernels/gles/device.h"
#include "kernels/gles/methods.h"
#include "kernels/gles/program.h"

namespace isocenter::gles {
namespace {

constexpr int kTerms = 9;
constexpr double kPolynomialTangent = 0.75;  // beyond, angles are halved
constexpr int kGroup = 8;
constexpr int kMargin = 2;  // zeros on both sides of a row

constexpr char kUniforms[] = R"(
precision highp sampler2D;
uniform sampler2D rows;
uniform sampler2D views;
uniform int view_count;
uniform int channels;
uniform float center;
uniform float per_radian;
uniform float nearest;
uniform float steepest;
uniform bool flat_detector;
uniform bool halved;
uniform float coefficients[9];
)";

// Interpolated here.
constexpr char kFetched[] = R"(
float At(int v, float position) {
  float whole = floor(position);
  int c = int(whole) + 2;
  if (c < 0 || c > channels + 2) return 0.0;
  float low = texelFetch(rows, ivec2(c, v), 0).r, high = texelFetch(rows, ivec2(c + 1, v), 0).r;
  return low + (position - whole) * (high - low);
}
)";

// Interpolated by the texture unit, whose rows end in zeros.
constexpr char kFiltered[] = R"(
float At(int v, float position) {
  vec2 size = vec2(textureSize(rows, 0));
  return textureLod(rows, vec2(position + 2.5, float(v) + 0.5) / size, 0.0).r;
}
)";

// A view's two texels hold what takes pixel (i, j) to x' and D - y'.
constexpr char kSum[] = R"(
float Position(float ratio) {
  if (flat_detector) return center + ratio * per_radian;
  // The tangent of half the angle: drivers' own arctangents are off by 1e-4.
  if (halved) ratio /= 1.0 + sqrt(1.0 + ratio * ratio);
  float square = ratio * ratio, sum = coefficients[8];
  for (int i = 7; i >= 0; --i) sum = sum * square + coefficients[i];
  return center + ratio * sum;
}

float Sum(vec2 pixel) {
  float sum = 0.0;
  for (int v = 0; v < view_count; ++v) {
    vec4 a = texelFetch(views, ivec2(0, v), 0), b = texelFetch(views, ivec2(1, v), 0);
    float x = a.x + a.y * pixel.x + a.z * pixel.y;
    float u = a.w + b.x * pixel.x + b.y * pixel.y;
    if (u <= nearest) continue;
    float ratio = x / u;
    if (abs(ratio) >= steepest) continue;
    float weight = flat_detector ? 1.0 / (u * u) : 1.0 / (x * x + u * u);
    sum += weight * At(v, Position(ratio));
  }
  return sum;
}
)";

constexpr char kCompute[] = R"(
layout(local_size_x = 8, local_size_y = 8) in;
layout(std430, binding = 0) writeonly buffer Image { float image[]; };
uniform int nx;
uniform int ny;
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (at.x >= nx || at.y >= ny) return;
  image[at.y * nx + at.x] = Sum(vec2(at));
}
)";

constexpr char kFragment[] = R"(
out vec4 color;
void main() { color = vec4(Sum(floor(gl_FragCoord.xy)), 0.0, 0.0, 0.0); }
)";

std::string Source(const char* at, const char* main) {
  return absl::StrCat(kUniforms, at, kSum, main);
}

// Two texels for each view; the geometry in float32.
std::vector<float> ViewTexels(const FanBeamGeometry& g, int first, int64_t count,
                              const VolumeGrid& grid, double scale) {
  const Vec3 origin = grid.VoxelToWorld(0, 0, 0), along = grid.VoxelToWorld(1, 0, 0) - origin,
             across = grid.VoxelToWorld(0, 1, 0) - origin;
  std::vector<float> texels;
  for (int view = first; view < first + count; ++view) {
    const double c = scale * std::cos(g.Angle(view)), s = scale * std::sin(g.Angle(view));
    for (const double value :
         {c * origin.x + s * origin.y, c * along.x + s * along.y, c * across.x + s * across.y,
          scale * g.source_to_axis_mm + s * origin.x - c * origin.y, s * along.x - c * along.y,
          s * across.x - c * across.y, 0.0, 0.0}) {
      texels.push_back(static_cast<float>(value));
    }
  }
  return texels;
}

class Backproject final : public ops::FanBeamBackproject {
 public:
  Backproject(std::shared_ptr<Context> context, const Program& program, bool compute)
      : context_(std::move(context)), program_(program), compute_(compute) {}

  absl::Status DoRun(const FanBeamGeometry& geometry, int first_view,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Context::Current current(*context_);
    const Shape3& shape = stack->shape();
    const VolumeGrid& grid = target->grid();
    const int64_t width = shape.fast + 2 * kMargin, most = context_->largest_texture();
    if (width > most || grid.nx > most || grid.ny > most) {
      return absl::InvalidArgumentError(
          absl::StrCat(shape.fast, " channels and ", grid.nx, "x", grid.ny, " pixels; textures of ",
                       context_->renderer(), " have at most ", most, " along an axis"));
    }
    SetScan(geometry);
    const double scale = Scale(geometry);
    for (int64_t first = 0; first < shape.slow; first += most) {
      const int64_t count = std::min(most, shape.slow - first);
      const std::vector<float> texels =
          ViewTexels(geometry, static_cast<int>(first_view + first), count, grid, scale);
      const Texture views(context_->gl(), 1, GL_RGBA32F, 2, static_cast<int>(count), GL_NEAREST,
                          texels.data());
      program_.Set("view_count", static_cast<int>(count));
      for (int64_t slice = 0; slice < shape.middle; ++slice) {
        std::vector<float> rows(count * width);
        for (int64_t view = 0; view < count; ++view) {
          std::copy_n(stack->view().row(first + view, slice), shape.fast,
                      rows.data() + view * width + kMargin);
        }
        const Texture texture(context_->gl(), 0, GL_R32F, static_cast<int>(width),
                              static_cast<int>(count), compute_ ? GL_NEAREST : GL_LINEAR,
                              rows.data());
        const std::span<float> image = target->view().slices(slice, 1).span();
        ISO_RETURN_IF_ERROR(compute_ ? AddComputed(grid, image) : AddDrawn(grid, image));
      }
    }
    return absl::OkStatus();
  }

 private:
  static double Scale(const FanBeamGeometry& g) {
    return g.detector == FanBeamGeometry::Detector::kFlat ? 1 / g.source_to_axis_mm : 1;
  }

  void SetScan(const FanBeamGeometry& g) const {
    const bool flat = g.detector == FanBeamGeometry::Detector::kFlat;
    const double per_radian =
        flat ? g.source_to_detector_mm / g.channel_pitch_mm : 1 / g.channel_angle;
    const double steepest =
        std::tan(std::max(std::abs(g.FanAngle(-1.25)), std::abs(g.FanAngle(g.channels + 0.25))));
    program_.Use();
    program_.Set("rows", 0);
    program_.Set("views", 1);
    program_.Set("channels", g.channels);
    program_.Set("center", static_cast<float>(g.central_channel));
    program_.Set("per_radian", static_cast<float>(per_radian));
    program_.Set("nearest", static_cast<float>(1e-6 * Scale(g) * g.source_to_axis_mm));
    program_.Set("steepest", static_cast<float>(steepest));
    program_.Set("flat_detector", static_cast<int>(flat));
    const bool halved = steepest > kPolynomialTangent;
    program_.Set("halved", static_cast<int>(halved));
    std::array<float, kTerms> coefficients = {};
    const std::vector<double> atan =
        ArctangentPolynomial(halved ? std::tan(std::atan(steepest) / 2) : steepest, kTerms);
    for (int i = 0; i < kTerms; ++i) {
      coefficients[i] = static_cast<float>(atan[i] * per_radian * (halved ? 2 : 1));
    }
    program_.Set("coefficients", coefficients);
  }

  absl::Status AddComputed(const VolumeGrid& grid, std::span<float> image) const {
    const Functions& gl = context_->gl();
    const auto pixels = static_cast<int64_t>(image.size());
    const StorageBuffer sums(gl, 0, pixels, nullptr);
    program_.Set("nx", grid.nx);
    program_.Set("ny", grid.ny);
    const auto groups = [](int n) { return static_cast<GLuint>((n + kGroup - 1) / kGroup); };
    gl.DispatchCompute(groups(grid.nx), groups(grid.ny), 1);
    const float* const made = sums.Map(pixels);
    ISO_RETURN_IF_ERROR(context_->Check("back-projecting"));
    if (made == nullptr) return absl::InternalError("a graphics buffer cannot be mapped");
    for (int64_t i = 0; i < pixels; ++i) image[i] += made[i];
    sums.Unmap();
    return absl::OkStatus();
  }

  absl::Status AddDrawn(const VolumeGrid& grid, std::span<float> image) const {
    const Functions& gl = context_->gl();
    const Texture target(gl, 2, GL_R32F, grid.nx, grid.ny, GL_NEAREST, nullptr);
    GLuint frame = 0;
    gl.GenFramebuffers(1, &frame);
    gl.BindFramebuffer(GL_FRAMEBUFFER, frame);
    gl.FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target.id(), 0);
    // Every driver reads float targets in four components.
    std::vector<float> drawn(4 * image.size());
    absl::Status status;
    if (gl.CheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE) {
      gl.Viewport(0, 0, grid.nx, grid.ny);
      gl.DrawArrays(GL_TRIANGLES, 0, 3);
      gl.ReadPixels(0, 0, grid.nx, grid.ny, GL_RGBA, GL_FLOAT, drawn.data());
      status = context_->Check("drawing");
    } else {
      status = absl::InternalError(
          absl::StrCat(context_->renderer(), " draws to no texture of float32"));
    }
    gl.BindFramebuffer(GL_FRAMEBUFFER, 0);
    gl.DeleteFramebuffers(1, &frame);
    ISO_RETURN_IF_ERROR(status);
    for (size_t i = 0; i < image.size(); ++i) image[i] += drawn[4 * i];
    return absl::OkStatus();
  }

  const std::shared_ptr<Context> context_;
  const Program program_;
  const bool compute_;
};

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> Make(ops::Session& session, bool compute) {
  ISO_ASSIGN_OR_RETURN(GlesSession * own, AsGlesSession(session));
  const Context& context = *own->context();
  const Context::Current current(context);
  ISO_ASSIGN_OR_RETURN(const Program program,
                       compute ? Program::Compute(context, Source(kFetched, kCompute))
                               : Program::Fragment(context, Source(kFiltered, kFragment)));
  return std::make_unique<Backproject>(own->context(), program, compute);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectCompute(
    ops::Session& session) {
  return Make(session, true);
}

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectFragment(
    ops::Session& session) {
  return Make(session, false);
}

}  // namespace isocenter::gles
