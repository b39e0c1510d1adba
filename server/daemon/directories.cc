#include "server/daemon/directories.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/archive/archive.h"
#include "server/archive/directories.h"
#include "server/config/server_config.h"
#include "server/daemon/start_advice.h"
#include "server/spool/spool.h"

namespace isocenter::daemon {
namespace {

absl::Status Absent(absl::string_view field, const std::string& path, absl::string_view what) {
  return OfDirectory(
      field, path,
      absl::FailedPreconditionError(absl::StrCat("directories_must_exist is set, and no ", what,
                                                 " is there; legal is one that an earlier "
                                                 "start has made: is its disk mounted?")));
}

/// The disk is there, but not what names what is on it.
absl::Status WithoutIndex(const std::string& archive) {
  return OfDirectory(
      "archive_directory", archive,
      absl::FailedPreconditionError(
          "directories_must_exist is set, and results are there (results/) without their index "
          "(index.sqlite): put the index back from a copy, or take directories_must_exist out for "
          "one start, which begins a new index and moves the results to damaged/ "
          "(docs/backup.md#results-that-the-index-does-not-name)"));
}

bool HasResults(const std::string& archive) {
  const auto results = archive::Entries(std::filesystem::path(archive) / "results");
  return results.ok() && !results->empty();
}

}  // namespace

absl::Status CheckDirectories(const v1::ServerConfig& config) {
  if (!config.directories_must_exist()) return absl::OkStatus();
  const std::string& archive = config.archive_directory();
  if (!archive::Archive::IsAt(archive)) {
    return HasResults(archive) ? WithoutIndex(archive)
                               : Absent("archive_directory", archive, "archive");
  }
  const std::string spool = config::SpoolDirectory(config);
  return spool::Spool::IsAt(spool) ? absl::OkStatus() : Absent("spool.directory", spool, "spool");
}

}  // namespace isocenter::daemon
