// A disk, as the ports that keep files on one tell of it.
#pragma once

#include <cstdint>
#include <limits>

namespace isocenter::jobs {

struct Disk {
  uint64_t id = 0;         // the same for all directories of a file system
  int64_t free_bytes = 0;  // that this process may still write
  // That it could write, were the disk empty: what is larger never fits.
  int64_t total_bytes = std::numeric_limits<int64_t>::max();
};

}  // namespace isocenter::jobs
