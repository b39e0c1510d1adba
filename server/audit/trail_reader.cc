#include "server/audit/trail_reader.h"

#include <sys/stat.h>

#include <vector>

#include "server/audit/chain.h"
#include "server/audit/json_line.h"
#include "server/audit/trail_files.h"

namespace isocenter::audit {

bool TrailReader::ReadLine(std::string& line) {
  const std::streampos begin = file_.tellg();
  if (std::getline(file_, line) && !file_.eof()) return true;
  file_.clear();
  file_.seekg(begin);  // what is there of a line is read again when it has come to its end
  return false;
}

std::optional<NumberedEvent> TrailReader::Find(int64_t behind) {
  std::string line;
  while (inode_ != 0 && ReadLine(line)) {
    const auto chained = ReadChained(line);
    if (!chained.ok() || chained->link.number <= behind) continue;
    auto event = FromJson(line);
    if (event.ok()) return NumberedEvent{chained->link.number, *std::move(event)};
  }
  return std::nullopt;
}

bool TrailReader::Open(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0 || about.st_ino == inode_) return false;
  file_ = std::ifstream(path);
  inode_ = file_.is_open() ? about.st_ino : 0;
  return file_.is_open();
}

absl::StatusOr<NumberedEvent> TrailReader::Next(int64_t behind) {
  // Before what is left of the open file is read: if that is closed now, it gets no more.
  std::vector<std::string> paths;
  for (const ClosedFile& closed : ClosedFiles(path_)) {
    if (closed.first <= behind + 1) paths.clear();  // those before hold older ones alone
    paths.push_back(closed.path);
  }
  paths.push_back(path_);
  if (auto found = Find(behind)) return *std::move(found);
  for (const std::string& path : paths) {
    if (!Open(path)) continue;
    if (auto found = Find(behind)) return *std::move(found);
  }
  return absl::NotFoundError("there is no record behind it yet");
}

}  // namespace isocenter::audit
