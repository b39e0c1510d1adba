// One line for each acquisition of the consoles, as it ends.
#pragma once

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/rooms/console.h"

namespace isocenter::bench {

/// A JSON object of the acquisition, without line breaks. Times are seconds of the machine's
/// monotonic clock, as Python's time.monotonic() has them, so that who does something to the
/// service meanwhile can say which acquisitions that met.
std::string LineOf(const std::string& room, const AcquisitionRecord& record);

/// Not thread-safe.
class AcquisitionLog {
 public:
  /// Begins the file anew; an empty path: nothing is written. Errors: UNAVAILABLE (cannot be
  /// written).
  static absl::StatusOr<AcquisitionLog> Open(const std::string& path);

  /// Written through, so that others can follow it. Errors: UNAVAILABLE.
  absl::Status Add(const std::string& room, const AcquisitionRecord& record);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace isocenter::bench
