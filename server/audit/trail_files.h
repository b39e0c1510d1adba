// The files of a trail: the one that is written to, and those that are closed. A closed one is
// named by the number of its first record: PATH.000000000042.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isocenter::audit {

struct ClosedFile {
  std::string path;
  int64_t first = 0;  // number of its first record
  uint64_t bytes = 0;
};

std::string ClosedName(const std::string& path, int64_t first);

/// Those beside `path`, in the order of their records.
std::vector<ClosedFile> ClosedFiles(const std::string& path);

}  // namespace isocenter::audit
