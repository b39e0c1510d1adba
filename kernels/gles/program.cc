#include "kernels/gles/program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::gles {
namespace {

constexpr char kHeader[] = "#version 310 es\nprecision highp float;\nprecision highp int;\n";
constexpr char kWholeTarget[] = R"(
void main() {
  vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  gl_Position = vec4(corner, 0.0, 1.0);
}
)";
constexpr int kLogBytes = 2048;

}  // namespace

absl::StatusOr<Program> Program::Compute(const Context& context, const std::string& source) {
  const std::pair<GLenum, std::string> shaders[] = {
      {GL_COMPUTE_SHADER, absl::StrCat("layout(local_size_x = ", kGroupX,
                                       ", local_size_y = ", kGroupY, ") in;\n", source)}};
  return Link(context, shaders);
}

absl::StatusOr<Program> Program::Fragment(const Context& context, const std::string& source) {
  return Draw(context, kWholeTarget, source);
}

absl::StatusOr<Program> Program::Draw(const Context& context, const std::string& vertices,
                                      const std::string& fragments) {
  const std::pair<GLenum, std::string> shaders[] = {{GL_VERTEX_SHADER, vertices},
                                                    {GL_FRAGMENT_SHADER, fragments}};
  return Link(context, shaders);
}

absl::StatusOr<Program> Program::Link(const Context& context,
                                      std::span<const std::pair<GLenum, std::string>> shaders) {
  const Functions& gl = context.gl();
  Program made;
  made.gl_ = &gl;
  made.program_ = gl.CreateProgram();
  char log[kLogBytes] = {};
  for (const auto& [kind, source] : shaders) {
    const std::string whole = absl::StrCat(kHeader, source);
    const char* const text = whole.c_str();
    const GLuint shader = gl.CreateShader(kind);
    gl.ShaderSource(shader, 1, &text, nullptr);
    gl.CompileShader(shader);
    GLint compiled = GL_FALSE;
    gl.GetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
    if (compiled != GL_TRUE) gl.GetShaderInfoLog(shader, kLogBytes, nullptr, log);
    gl.AttachShader(made.program_, shader);
    gl.DeleteShader(shader);
    if (compiled != GL_TRUE) {
      return absl::InternalError(absl::StrCat(context.renderer(), " refuses a shader: ", log));
    }
  }
  gl.LinkProgram(made.program_);
  GLint linked = GL_FALSE;
  gl.GetProgramiv(made.program_, GL_LINK_STATUS, &linked);
  if (linked == GL_TRUE) return made;
  gl.GetProgramInfoLog(made.program_, kLogBytes, nullptr, log);
  return absl::InternalError(absl::StrCat(context.renderer(), " does not link shaders: ", log));
}

void Program::Dispatch(int64_t x, int64_t y) const {
  gl_->DispatchCompute(static_cast<GLuint>((x + kGroupX - 1) / kGroupX),
                       static_cast<GLuint>((y + kGroupY - 1) / kGroupY), 1);
  gl_->MemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT | GL_PIXEL_BUFFER_BARRIER_BIT);
}

Texture::Texture(const Functions& gl, int unit, GLenum format, int width, int height, GLenum filter,
                 const float* texels, const GraphicsBuffer* from)
    : gl_(gl) {
  gl.GenTextures(1, &texture_);
  gl.ActiveTexture(GL_TEXTURE0 + static_cast<GLenum>(unit));
  gl.BindTexture(GL_TEXTURE_2D, texture_);
  if (from != nullptr) gl.BindBuffer(GL_PIXEL_UNPACK_BUFFER, from->id());
  const bool one = format == GL_R32F || format == GL_R16F;
  const GLenum components = one ? GL_RED : format == GL_RG32F ? GL_RG : GL_RGBA;
  gl.TexImage2D(GL_TEXTURE_2D, 0, static_cast<GLint>(format), width, height, 0, components,
                GL_FLOAT, texels);
  if (from != nullptr) gl.BindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  gl.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, static_cast<GLint>(filter));
  gl.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, static_cast<GLint>(filter));
  gl.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  gl.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
}

}  // namespace isocenter::gles
