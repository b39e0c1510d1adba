// Programs, textures and buffers of a context: freed with the scope, in which it must be current.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/gles/context.h"

namespace isocenter::gles {

/// A linked program. Freed with its context.
class Program {
 public:
  /// Errors: INTERNAL with the compiler's words.
  static absl::StatusOr<Program> Compute(const Context& context, const std::string& source);
  /// One triangle over the whole target.
  static absl::StatusOr<Program> Fragment(const Context& context, const std::string& source);

  void Use() const { gl_->UseProgram(program_); }
  void Set(const char* name, int value) const { gl_->Uniform1i(At(name), value); }
  void Set(const char* name, float value) const { gl_->Uniform1f(At(name), value); }
  void Set(const char* name, std::span<const float> values) const {
    gl_->Uniform1fv(At(name), static_cast<GLsizei>(values.size()), values.data());
  }

 private:
  static absl::StatusOr<Program> Link(const Context& context,
                                      std::span<const std::pair<GLenum, std::string>> shaders);
  GLint At(const char* name) const { return gl_->GetUniformLocation(program_, name); }
  const Functions* gl_ = nullptr;
  GLuint program_ = 0;
};

/// A texture of one level with float32 texels; zero-filled is whatever the caller makes it.
class Texture {
 public:
  /// `format` GL_R32F or GL_RGBA32F; `texels` may be null. Bound to `unit`.
  Texture(const Functions& gl, int unit, GLenum format, int width, int height, GLenum filter,
          const float* texels);
  ~Texture() { gl_.DeleteTextures(1, &texture_); }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  GLuint id() const { return texture_; }

 private:
  const Functions& gl_;
  GLuint texture_ = 0;
};

/// Memory that shaders read and write, bound to `binding`.
class StorageBuffer {
 public:
  StorageBuffer(const Functions& gl, int binding, int64_t floats, const float* values);
  ~StorageBuffer() { gl_.DeleteBuffers(1, &buffer_); }
  StorageBuffer(const StorageBuffer&) = delete;
  StorageBuffer& operator=(const StorageBuffer&) = delete;
  /// What shaders wrote; null when it cannot be mapped. Until Unmap.
  const float* Map(int64_t floats) const;
  void Unmap() const { gl_.UnmapBuffer(GL_SHADER_STORAGE_BUFFER); }

 private:
  const Functions& gl_;
  GLuint buffer_ = 0;
};

}  // namespace isocenter::gles
