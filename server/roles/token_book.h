// The file of tokens that people and programs show.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/roles/token_holder.h"

namespace isocenter::roles {

/// Lines of role, digest and name; empty ones and those that begin with '#' do not count. Errors:
/// INVALID_ARGUMENT, naming the line and what is legal.
absl::StatusOr<std::vector<TokenHolder>> ParseTokens(absl::string_view text,
                                                     absl::string_view file_name);

/// The tokens as the file has them now: it is read again when it has changed. A file that has
/// become unreadable or illegal leaves the tokens as they were, with a line in the log.
/// Thread-safe.
class TokenBook {
 public:
  /// Errors: NOT_FOUND (cannot be read), PERMISSION_DENIED (others may read or write it), those of
  /// ParseTokens.
  static absl::StatusOr<std::unique_ptr<TokenBook>> Open(std::string path);

  /// Compares with every holder's digest, in constant time.
  std::optional<TokenHolder> Find(absl::string_view token);
  /// Whether a token that was found before is still there, with the same role.
  bool Has(const TokenHolder& holder);

 private:
  /// What tells that a file has changed.
  struct Stamp {
    ino_t inode = 0;
    off_t bytes = 0;
    int64_t modified_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  explicit TokenBook(std::string path) : path_(std::move(path)) {}
  absl::Status Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadIfChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  absl::Mutex mutex_;
  Stamp stamp_ ABSL_GUARDED_BY(mutex_);
  std::vector<TokenHolder> holders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::roles
