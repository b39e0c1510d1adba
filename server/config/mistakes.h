// All that is wrong with a configuration, so that it is corrected once and not once for each start.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace isocenter::config {

/// Collects what checks refuse. Not thread-safe.
class Mistakes {
 public:
  /// OK is none.
  void Add(const absl::Status& refused);
  /// Sets `into` to what `given` holds, or adds why it holds nothing.
  template <class T, class Into>
  void Take(absl::StatusOr<T> given, Into& into) {
    Add(given.status());
    if (given.ok()) into = *std::move(given);
  }
  bool empty() const { return refused_.empty(); }
  /// OK where there is none; else the code of the first, and a line for each.
  absl::Status status() const;

 private:
  std::vector<absl::Status> refused_;
};

}  // namespace isocenter::config
