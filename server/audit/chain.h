// Records that are numbered, each with the digest of the one before it: what was changed or taken
// away between two of them shows (docs/adr/0035-strangers-and-the-audit-trail.md).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::audit {

/// The place of a record in the chain.
struct Link {
  int64_t number = 0;                       // 1 is the first
  std::string hash = std::string(64, '0');  // SHA-256 of its line before "hash", in hexadecimal
  friend bool operator==(const Link&, const Link&) = default;
};

/// The line of a record behind `last`, without its end: `record` is a JSON object, to which "seq"
/// and "prev" are added in front, and "hash" at the end. `last` becomes that of the line.
std::string Chain(absl::string_view record, Link& last);

struct ChainedLine {
  Link link;
  std::string previous_hash;
  int64_t torn_bytes = 0;
  int64_t lost = 0;  // records that it says could not be written before it
};

/// A line whose digest is right. Errors: DATA_LOSS (it is no record, or was changed).
absl::StatusOr<ChainedLine> ReadChained(absl::string_view line);

}  // namespace isocenter::audit
