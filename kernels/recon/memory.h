// What the parts of a plan take of a memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isocenter::recon {

struct MemoryPart {
  std::string what;  // for people
  int64_t bytes = 0;
};

/// One memory's parts, which are there at the same time.
using MemoryParts = std::vector<MemoryPart>;

inline int64_t TotalBytes(const MemoryParts& parts) {
  int64_t bytes = 0;
  for (const MemoryPart& part : parts) bytes += part.bytes;
  return bytes;
}

}  // namespace isocenter::recon
