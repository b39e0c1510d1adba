// The records of a trail's files, one after the other, while they are written.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/audit/event.h"

namespace isocenter::audit {

struct NumberedEvent {
  int64_t number = 0;
  Event event;
};

/// Not thread-safe.
class TrailReader {
 public:
  explicit TrailReader(std::string path) : path_(std::move(path)) {}

  /// The first record behind the one of that number. Lines that are none are passed over. Errors:
  /// NOT_FOUND (there is none yet).
  absl::StatusOr<NumberedEvent> Next(int64_t behind);

 private:
  /// Of what is left of the open file.
  std::optional<NumberedEvent> Find(int64_t behind);
  /// The open file's next whole line.
  bool ReadLine(std::string& line);
  /// False: it is open already, or cannot be opened.
  bool Open(const std::string& path);

  const std::string path_;
  std::ifstream file_;
  uint64_t inode_ = 0;  // of the open file, whatever it is called now; 0: none is
};

}  // namespace isocenter::audit
