// Large, zero-filled, aligned memory.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace isocenter {

/// An anonymous mapping of floats, aligned to 2 MiB where it is that large and backed by huge pages
/// where the system has them: of small ones, who touches many rows at once needs more than a
/// processor keeps in mind, and threads that touch them first wait for each other. Move-only.
class PageBuffer {
 public:
  /// Zero-filled. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<PageBuffer> Create(int64_t floats);
  PageBuffer() = default;
  ~PageBuffer();
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;

  float* data() { return data_; }
  const float* data() const { return data_; }
  int64_t floats() const { return floats_; }

 private:
  void* mapping_ = nullptr;
  int64_t mapping_bytes_ = 0;
  float* data_ = nullptr;
  int64_t floats_ = 0;
};

}  // namespace isocenter
