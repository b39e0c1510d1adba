#include "server/daemon/directories.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/archive/archive.h"
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

}  // namespace

absl::Status CheckDirectories(const v1::ServerConfig& config) {
  if (!config.directories_must_exist()) return absl::OkStatus();
  if (!archive::Archive::IsAt(config.archive_directory())) {
    return Absent("archive_directory", config.archive_directory(), "archive");
  }
  const std::string spool = config::SpoolDirectory(config);
  return spool::Spool::IsAt(spool) ? absl::OkStatus() : Absent("spool.directory", spool, "spool");
}

}  // namespace isocenter::daemon
