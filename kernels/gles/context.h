// A context of OpenGL ES 3.1 without a window.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/gles/functions.h"

namespace isocenter::gles {

/// Made by surfaceless EGL, with Mesa's software where there is no GPU. It belongs to one thread at
/// a time, which makes it current for as long as it works.
class Context {
 public:
  /// Errors: UNAVAILABLE, naming what is missing: the library, the display, the version, or the
  /// extensions.
  static absl::StatusOr<std::unique_ptr<Context>> Create();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Functions& gl() const { return gl_; }
  /// As the driver calls itself.
  const std::string& renderer() const { return renderer_; }
  /// Errors: UNAVAILABLE, naming the extension that the driver lacks.
  absl::Status Needs(absl::string_view extension) const;
  /// Of a texture, along either axis.
  int largest_texture() const { return largest_texture_; }
  /// Bytes of a buffer that a shader sees, and what their beginning is a multiple of.
  int64_t largest_binding() const { return largest_binding_; }
  int64_t binding_alignment() const { return binding_alignment_; }
  /// INTERNAL or RESOURCE_EXHAUSTED when a call since the last one failed; `what` names them.
  absl::Status Check(const char* what) const;

  /// Current while the outermost of a thread lives.
  class Current {
   public:
    explicit Current(const Context& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Context& context_;
  };

 private:
  struct Egl;
  Context();
  absl::Status Open();
  absl::Status FindFunctions();
  absl::Status CheckDriver();
  bool Has(absl::string_view extension) const;

  std::unique_ptr<Egl> egl_;
  Functions gl_;
  std::string renderer_, extensions_;
  int largest_texture_ = 0;
  int64_t largest_binding_ = 0, binding_alignment_ = 1;
  mutable int users_ = 0;  // that have it current
};

}  // namespace isocenter::gles
