// A disk, as the ports that keep files on one tell of it.
#pragma once

#include <cstdint>

namespace isocenter::jobs {

struct Disk {
  uint64_t id = 0;         // the same for all directories of a file system
  int64_t free_bytes = 0;  // that this process may still write
};

}  // namespace isocenter::jobs
