// A directory of files that is filled as a whole or not at all.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace isocenter::formats {

/// Whether files may go there: nothing is there yet, or an empty directory; with `overwrite` also
/// one that holds files. Errors: FAILED_PRECONDITION, which says how many there are and names some;
/// those of CheckDirectoryDestination.
absl::Status CheckUnused(const std::string& flag, const std::filesystem::path& directory,
                         bool overwrite);

/// Files are written to a temporary directory, in the place of which Commit puts the whole, or into
/// which it moves them when there is one already; without Commit nothing is left. Files of other
/// names are never removed, and never mixed with these. Not thread-safe.
class StagedDirectory {
 public:
  /// `directory` has passed CheckUnused. Errors: PERMISSION_DENIED.
  static absl::StatusOr<StagedDirectory> Create(const std::filesystem::path& directory);
  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  ~StagedDirectory();

  /// Where to write a file of this plain name; each name once.
  std::filesystem::path Add(const std::string& name);
  /// Errors: FAILED_PRECONDITION when the directory holds other files than those added, which are
  /// named; PERMISSION_DENIED.
  absl::Status Commit();

 private:
  StagedDirectory(std::filesystem::path directory, std::filesystem::path staging, bool is_new);
  absl::Status MoveFiles();

  std::filesystem::path directory_;
  std::filesystem::path staging_;  // empty: nothing has to be removed
  bool is_new_;                    // staging_ will become directory_
  std::set<std::string> names_;
};

}  // namespace isocenter::formats
