// Large, zero-filled, aligned memory.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace isocenter::cpu {

/// An anonymous mapping of floats, aligned to 2 MiB where it is that large and backed by huge pages
/// where the system has them: back-projection touches many detector columns at once, each on a page
/// of its own. Move-only.
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

}  // namespace isocenter::cpu
