// Programs and textures of a context, which must be current where they are made and used.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/gles/context.h"
#include "kernels/gles/graphics_buffer.h"

namespace isocenter::gles {

/// Of every compute shader; 128 threads are what each driver has.
inline constexpr int kGroupX = 32, kGroupY = 4;

/// A linked program. Freed with its context.
class Program {
 public:
  /// Errors: INTERNAL with the compiler's words.
  static absl::StatusOr<Program> Compute(const Context& context, const std::string& source);
  /// One triangle over the whole target.
  static absl::StatusOr<Program> Fragment(const Context& context, const std::string& source);

  static absl::StatusOr<Program> Draw(const Context& context, const std::string& vertices,
                                      const std::string& fragments);

  void Use() const { gl_->UseProgram(program_); }
  void Set(const char* name, int value) const { gl_->Uniform1i(At(name), value); }
  void Set(const char* name, float value) const { gl_->Uniform1f(At(name), value); }
  void Set(const char* name, float x, float y) const { gl_->Uniform2f(At(name), x, y); }
  void Set(const char* name, std::span<const float> values) const {
    gl_->Uniform1fv(At(name), static_cast<GLsizei>(values.size()), values.data());
  }
  /// A compute shader over (x, y), in groups of kGroupX x kGroupY; what comes after sees what it
  /// wrote.
  void Dispatch(int64_t x, int64_t y) const;

 private:
  static absl::StatusOr<Program> Link(const Context& context,
                                      std::span<const std::pair<GLenum, std::string>> shaders);
  GLint At(const char* name) const { return gl_->GetUniformLocation(program_, name); }
  const Functions* gl_ = nullptr;
  GLuint program_ = 0;
};

/// A texture of one level, bound to `unit`. Freed with the object.
class Texture {
 public:
  /// `format`: GL_R32F, GL_RG32F, GL_RGBA32F, or GL_R16F, GL_RGBA16F, to which floats are rounded.
  /// `texels` may be null; with `from` they are the beginning of that buffer.
  Texture(const Functions& gl, int unit, GLenum format, int width, int height, GLenum filter,
          const float* texels, const GraphicsBuffer* from = nullptr);
  ~Texture() { gl_.DeleteTextures(1, &texture_); }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  GLuint id() const { return texture_; }

 private:
  const Functions& gl_;
  GLuint texture_ = 0;
};

}  // namespace isocenter::gles
