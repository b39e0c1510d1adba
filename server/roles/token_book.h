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

struct ParsedTokens {
  std::vector<TokenHolder> holders;
  /// INVALID_ARGUMENT, naming the line and what is legal; one for each line that is wrong.
  std::vector<absl::Status> wrong;
};

/// Lines of role, digest and name; empty ones and those that begin with '#' do not count.
ParsedTokens ParseTokens(absl::string_view text, absl::string_view file_name);

/// The tokens as the file has them now: it is read again when it has changed. A line that has
/// become illegal names nobody and keeps no other from counting, so that a token can be taken back
/// whatever else is wrong; a file that is taken away names nobody. One that is there and cannot be
/// read, or that others may write, says nothing: then the tokens stay as they were. All three are
/// said in the log, once, and by is_right(). docs/adr/0146. Thread-safe.
class TokenBook {
 public:
  /// Errors: NOT_FOUND (cannot be read), PERMISSION_DENIED (others may read or write it), the first
  /// wrong line.
  static absl::StatusOr<std::unique_ptr<TokenBook>> Open(std::string path);

  /// Whether the file is there, could be read, and has no wrong line, now.
  bool is_right();
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
    int64_t changed_ns = 0;  // also by other rights
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  explicit TokenBook(std::string path) : path_(std::move(path)) {}
  /// Errors: that of stat().
  static absl::StatusOr<Stamp> StampOf(const std::string& path);
  absl::StatusOr<ParsedTokens> Read() const;
  void ReadIfChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  absl::Mutex mutex_;
  Stamp stamp_ ABSL_GUARDED_BY(mutex_);  // of what was looked at last; zeros: of no file
  bool is_right_ ABSL_GUARDED_BY(mutex_) = true;
  std::vector<TokenHolder> holders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::roles
