// All that is wrong with a message, told at once.
#pragma once

#include "absl/status/status.h"

namespace isocenter::wire {

/// Collects refusals: whoever sends a message mends all of them, and does not learn of the second
/// when the first is mended.
class Mistakes {
 public:
  /// An error is one mistake; OK is none.
  void Add(const absl::Status& checked);

  /// Of each an "a is 1; legal is 2", one after another, each once, until they are some 1600 bytes;
  /// and the payloads of all: what marks one of them marks the whole. The code is the one that all
  /// have, else INVALID_ARGUMENT.
  const absl::Status& AsStatus() const { return all_; }

 private:
  absl::Status all_;
};

}  // namespace isocenter::wire
