// Pieces of the statements about transfers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/archive/transfer_queue.h"

namespace isocenter::archive {

/// As the column `state` has it.
inline int Number(TransferState state) { return static_cast<int>(state); }

/// "?first, ?first+1, ..."
inline std::string Marks(size_t first, size_t count) {
  std::vector<std::string> marks;
  for (size_t i = 0; i < count; ++i) marks.push_back(absl::StrCat("?", first + i));
  return absl::StrJoin(marks, ",");
}

}  // namespace isocenter::archive
