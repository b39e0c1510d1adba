// The token of a client, read again when its file has changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::client {

/// Tokens of an identity provider end after minutes or hours, and whoever renews one replaces the
/// file: a console that runs for weeks goes on. Thread-safe.
class TokenFile {
 public:
  /// Errors: those of ReadRegularFile, INVALID_ARGUMENT (its first line is no token).
  static absl::StatusOr<std::shared_ptr<TokenFile>> Open(std::string path);

  /// As the file has it now. While it cannot be read, or has no token, the one before.
  std::string Token();

 private:
  /// What tells that the file has changed.
  struct Stamp {
    ino_t inode = 0;
    off_t bytes = 0;
    int64_t modified_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  Stamp Look() const;

  const std::string path_;
  absl::Mutex mutex_;
  Stamp stamp_ ABSL_GUARDED_BY(mutex_);
  std::string token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::client
