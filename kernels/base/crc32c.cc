#include "kernels/base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace isocenter {

uint32_t Crc32c(std::span<const std::byte> data) { return ExtendCrc32c(0, data); }

uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> data) {
  constexpr size_t kLargestRun = size_t{1} << 30;  // the library counts in int
  crc = ~crc;
  while (!data.empty()) {
    const size_t n = std::min(data.size(), kLargestRun);
    // The library takes a pointer to mutable bytes and does not write.
    crc = crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<std::byte*>(data.data())),
                      static_cast<int>(n), crc);
    data = data.subspan(n);
  }
  return ~crc;
}

uint32_t ExtendCrc32(uint32_t crc, std::span<const std::byte> data) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(data.data()), data.size());
}

}  // namespace isocenter
