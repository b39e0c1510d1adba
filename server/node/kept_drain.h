// What an operator has said of a node, in a file: a drain outlasts the process, however it ends.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace isocenter::node {

/// What an operator has said.
struct Drained {
  absl::Time since;
  std::string reason;  // may be empty
  std::string by;      // who said it
  friend bool operator==(const Drained&, const Drained&) = default;
};

/// The file of one node. One thread at a time.
class KeptDrain {
 public:
  static constexpr char kFileName[] = "drained";
  static std::filesystem::path FileIn(const std::filesystem::path& archive_directory) {
    return archive_directory / kFileName;
  }

  /// Without a `file` nothing is kept.
  explicit KeptDrain(std::filesystem::path file) : file_(std::move(file)) {}

  /// Nothing: the node is not drained. A file that is damaged or cannot be read is a drain of an
  /// unknown operator, and the log says so: whoever drained a node had a reason.
  std::optional<Drained> Read() const;
  /// On the disk when it returns, whole or not at all. Errors: those of storage::FileError.
  absl::Status Keep(const Drained& drained) const;
  /// Without effect where there is none. Errors: those of storage::FileError.
  absl::Status Forget() const;

 private:
  const std::filesystem::path file_;
};

}  // namespace isocenter::node
