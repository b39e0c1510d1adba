#include "kernels/base/page_buffer.h"

#include <sys/mman.h>

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"

namespace isocenter {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

absl::StatusOr<PageBuffer> PageBuffer::Create(int64_t floats) {
  const int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
  const bool huge = bytes >= kHugePage;
  PageBuffer buffer;
  buffer.mapping_bytes_ = huge ? bytes + kHugePage : bytes;
  void* mapping = mmap(nullptr, static_cast<size_t>(buffer.mapping_bytes_), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system has no ", BytesText(buffer.mapping_bytes_), " of memory left"));
  }
  buffer.mapping_ = mapping;
  buffer.floats_ = floats;
  auto address = reinterpret_cast<uintptr_t>(mapping);
  if (huge) {
    address = (address + kHugePage - 1) & ~static_cast<uintptr_t>(kHugePage - 1);
    // Advice only: where it is refused, small pages do.
    (void)madvise(reinterpret_cast<void*>(address), static_cast<size_t>(bytes), MADV_HUGEPAGE);
  }
  buffer.data_ = reinterpret_cast<float*>(address);
  return buffer;
}

PageBuffer::~PageBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, static_cast<size_t>(mapping_bytes_));
}

PageBuffer::PageBuffer(PageBuffer&& other) noexcept { *this = std::move(other); }

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(data_, other.data_);
  std::swap(floats_, other.floats_);
  return *this;
}

}  // namespace isocenter
