#include "server/daemon/no_device_record.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/log.h"

namespace isocenter::daemon {
namespace {

std::filesystem::path FileIn(const std::filesystem::path& archive_directory) {
  return archive_directory / "no-device-time";
}

}  // namespace

void RecordNoDevice(const std::filesystem::path& archive_directory, absl::Time when) {
  const std::filesystem::path path = FileIn(archive_directory);
  const std::string temporary = absl::StrCat(path.string(), ".new");
  std::ofstream file(temporary);
  file << absl::ToUnixSeconds(when) << '\n';
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    spdlog::warn("event=record_unwritten file={}", path.string());
  }
}

absl::StatusOr<double> LastTimeWithoutDevice(const std::filesystem::path& archive_directory) {
  std::ifstream file(FileIn(archive_directory));
  if (!file) return 0.0;
  std::string line;
  std::getline(file, line);
  double seconds = 0;
  if (!absl::SimpleAtod(line, &seconds) || !(seconds > 0)) {
    return absl::InternalError(absl::StrCat(FileIn(archive_directory).string(), " holds '", line,
                                            "'; legal are seconds since 1970"));
  }
  return seconds;
}

}  // namespace isocenter::daemon
