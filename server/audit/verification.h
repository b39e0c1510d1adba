// Whether a trail is whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/audit/chain.h"

namespace isocenter::audit {

/// A trail that is whole from its first record that is there to its last one.
struct Verification {
  int files = 0;
  int64_t first = 0;               // number of the first record
  Link last;                       // to be compared with what was kept elsewhere
  std::vector<std::string> notes;  // what was found besides, in sentences
};

/// Reads all files of the directory that hold records of a chain, in the order of their records:
/// those of the service, and those that were collected and brought back. Errors: DATA_LOSS naming
/// file, line and record where the chain is broken first; NOT_FOUND (no such directory, or no
/// record in any of its files).
absl::StatusOr<Verification> Verify(const std::string& directory);

}  // namespace isocenter::audit
