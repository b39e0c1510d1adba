#include "client/formats/staged_directory.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"
#include "client/formats/partial.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

namespace fs = std::filesystem;

absl::Status Failed(const std::string& what, const fs::path& path, const std::error_code& error) {
  return absl::PermissionDeniedError(
      absl::StrCat("cannot ", what, " ", path.string(), ": ", error.message()));
}

absl::StatusOr<std::vector<fs::path>> EntriesOf(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  if (error) return Failed("list", directory, error);
  // What a killed program has left is nobody's data, and may be what another one writes just now.
  std::erase_if(entries, [](const fs::path& entry) { return IsPartial(entry); });
  std::ranges::sort(entries);
  return entries;
}

/// "3 files (a, b, ...)".
std::string CountAndNames(const std::vector<fs::path>& files) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(kNamed, files.size()); ++i) {
    names.push_back(files[i].filename().string());
  }
  if (files.size() > kNamed) names.push_back("...");
  return absl::StrCat(files.size(), files.size() == 1 ? " file (" : " files (",
                      absl::StrJoin(names, ", "), ")");
}

/// "dir/" is "dir".
fs::path WithoutSlash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

absl::Status CheckUnused(const std::string& flag, const fs::path& directory, bool overwrite) {
  ISO_RETURN_IF_ERROR(CheckDirectoryDestination({.flag = flag, .path = directory}));
  std::error_code error;
  if (overwrite || !fs::exists(directory, error)) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(const std::vector<fs::path> there, EntriesOf(directory));
  if (there.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(flag, " is '", directory.string(), "', which holds ", CountAndNames(there),
                   "; legal is a directory that is empty or not there yet, or --overwrite"));
}

absl::StatusOr<StagedDirectory> StagedDirectory::Create(const fs::path& directory) {
  const fs::path target = WithoutSlash(directory);
  std::error_code error;
  const bool is_new = !fs::exists(target, error);
  const fs::path completed = is_new ? target : target / "files";
  RemoveAbandoned(completed);
  const fs::path staging = PartialName(completed);
  fs::create_directories(staging, error);
  if (error) return Failed("make the directory", staging, error);
  return StagedDirectory(target, staging, is_new);
}

StagedDirectory::StagedDirectory(fs::path directory, fs::path staging, bool is_new)
    : directory_(std::move(directory)), staging_(std::move(staging)), is_new_(is_new) {}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : directory_(std::move(other.directory_)),
      staging_(std::exchange(other.staging_, fs::path())),
      is_new_(other.is_new_),
      names_(std::move(other.names_)) {}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

fs::path StagedDirectory::Add(const std::string& name) {
  names_.insert(name);
  return staging_ / name;
}

absl::Status StagedDirectory::Commit() {
  if (!is_new_) return MoveFiles();
  std::error_code error;
  fs::rename(staging_, directory_, error);
  if (error) return Failed("rename to", directory_, error);
  staging_.clear();
  return absl::OkStatus();
}

absl::Status StagedDirectory::MoveFiles() {
  ISO_ASSIGN_OR_RETURN(std::vector<fs::path> there, EntriesOf(directory_));
  std::erase_if(there, [this](const fs::path& entry) {
    std::error_code error;
    if (entry == staging_) return true;
    return names_.contains(entry.filename().string()) && fs::is_regular_file(entry, error);
  });
  if (!there.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory_.string(), " also holds ", CountAndNames(there),
                     " that would be mixed with what was to be written; nothing there was changed; "
                     "legal is another directory, or this one without them"));
  }
  std::error_code error;
  for (const std::string& name : names_) {
    fs::rename(staging_ / name, directory_ / name, error);
    if (error) return Failed("rename to", directory_ / name, error);
  }
  return absl::OkStatus();
}

}  // namespace isocenter::formats
