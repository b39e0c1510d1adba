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
  const std::pair<GLenum, std::string> shaders[] = {{GL_COMPUTE_SHADER, source}};
  return Link(context, shaders);
}

absl::StatusOr<Program> Program::Fragment(const Context& context, const std::string& source) {
  const std::pair<GLenum, std::string> shaders[] = {{GL_VERTEX_SHADER, kWholeTarget},
                                                    {GL_FRAGMENT_SHADER, source}};
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

Texture::Texture(const Functions& gl, int unit, GLenum format, int width, int height, GLenum filter,
                 const float* texels)
    : gl_(gl) {
  gl.GenTextures(1, &texture_);
  gl.ActiveTexture(GL_TEXTURE0 + static_cast<GLenum>(unit));
  gl.BindTexture(GL_TEXTURE_2D, texture_);
  gl.TexImage2D(GL_TEXTURE_2D, 0, static_cast<GLint>(format), width, height, 0,
                format == GL_R32F ? GL_RED : GL_RGBA, GL_FLOAT, texels);
  gl.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, static_cast<GLint>(filter));
  gl.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, static_cast<GLint>(filter));
  gl.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  gl.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
}

StorageBuffer::StorageBuffer(const Functions& gl, int binding, int64_t floats, const float* values)
    : gl_(gl) {
  gl.GenBuffers(1, &buffer_);
  gl.BindBuffer(GL_SHADER_STORAGE_BUFFER, buffer_);
  gl.BufferData(GL_SHADER_STORAGE_BUFFER, floats * static_cast<int64_t>(sizeof(float)), values,
                GL_DYNAMIC_COPY);
  gl.BindBufferBase(GL_SHADER_STORAGE_BUFFER, static_cast<GLuint>(binding), buffer_);
}

const float* StorageBuffer::Map(int64_t floats) const {
  gl_.MemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, buffer_);
  return static_cast<const float*>(gl_.MapBufferRange(
      GL_SHADER_STORAGE_BUFFER, 0, floats * static_cast<int64_t>(sizeof(float)), GL_MAP_READ_BIT));
}

}  // namespace isocenter::gles
