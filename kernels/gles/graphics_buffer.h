// Floats in the memory of a graphics device.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/gles/context.h"
#include "kernels/ops/memory_budget.h"

namespace isocenter::gles {

/// A buffer that counts against a budget and is freed with the object. Move-only. Calls make the
/// context current themselves.
class GraphicsBuffer {
 public:
  /// Contents are undefined. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<GraphicsBuffer> Create(std::shared_ptr<const Context> context,
                                               std::shared_ptr<ops::MemoryBudget> budget,
                                               int64_t floats);
  GraphicsBuffer() = default;
  GraphicsBuffer(GraphicsBuffer&& other) noexcept { *this = std::move(other); }
  GraphicsBuffer& operator=(GraphicsBuffer&& other) noexcept;
  ~GraphicsBuffer();

  int64_t floats() const { return floats_; }
  int64_t bytes() const { return floats_ * static_cast<int64_t>(sizeof(float)); }
  GLuint id() const { return buffer_; }

  /// `count` floats from `first` on. Errors: INTERNAL.
  absl::Status Upload(int64_t first, int64_t count, const float* values);
  absl::Status Download(int64_t first, int64_t count, float* values) const;
  absl::Status Fill(int64_t count, float value);
  /// Binds what shaders read as `binding`: `count` floats from `first` on, at most
  /// context.largest_binding(). Returns where in it they begin: bindings are aligned.
  int Bind(int binding, int64_t first, int64_t count) const;

 private:
  std::shared_ptr<const Context> context_;
  std::shared_ptr<ops::MemoryBudget> budget_;
  GLuint buffer_ = 0;
  int64_t floats_ = 0;
};

/// A buffer of an operation that keeps it from run to run.
class GraphicsScratch {
 public:
  GraphicsScratch(std::shared_ptr<const Context> context, std::shared_ptr<ops::MemoryBudget> budget)
      : context_(std::move(context)), budget_(std::move(budget)) {}
  /// At least `floats`; what was in it may be gone. Errors: RESOURCE_EXHAUSTED.
  absl::StatusOr<GraphicsBuffer*> Reserve(int64_t floats);

 private:
  std::shared_ptr<const Context> context_;
  std::shared_ptr<ops::MemoryBudget> budget_;
  GraphicsBuffer buffer_;
};

}  // namespace isocenter::gles
