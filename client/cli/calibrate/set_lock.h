// Two commands that add to one calibration set, one after the other.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace isocenter::cli {

/// Of a set's file, from before it is read until it has been replaced: else the later of two
/// commands would replace what the earlier one measured. Where the file system has no locks,
/// or the file cannot be opened, nothing is held.
class SetLock {
 public:
  SetLock() = default;
  /// Errors: ABORTED (another command has it).
  static absl::StatusOr<SetLock> Take(const std::string& path);
  ~SetLock();
  SetLock(SetLock&& other) noexcept;
  SetLock& operator=(SetLock&& other) noexcept;

 private:
  explicit SetLock(int file) : file_(file) {}
  int file_ = -1;
};

}  // namespace isocenter::cli
