// Putting right what a crash has left of an archive.
#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"
#include "server/archive/directories.h"

namespace isocenter::archive {

namespace fs = std::filesystem;

namespace {

/// Of a directory in results: a damaged row may say anything.
bool IsDirectoryName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string("/\0", 2)) == std::string::npos;
}

}  // namespace

absl::Status Archive::Repair() {
  ISO_ASSIGN_OR_RETURN(const std::vector<fs::path> staged, Entries(StagingDirectory()));
  for (const fs::path& path : staged) {
    ISO_RETURN_IF_ERROR(RemoveAll(path));
    repairs_.push_back(absl::StrCat("removed unfinished result ", path.filename().string()));
  }

  struct Indexed {
    std::string job_id, directory, raw_file_name;
    int64_t raw_bytes, files;
  };
  absl::MutexLock lock(&mutex_);
  std::vector<Indexed> indexed;
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT job_id, directory, raw_file_name, raw_bytes, SUM(instance_count) + 1 FROM series "
      "GROUP BY job_id",
      {}, [&](const Row& row) {
        indexed.push_back({row.Text(0), row.Text(1), row.Text(2), row.Integer(3), row.Integer(4)});
      }));
  std::vector<std::string> whole;
  for (const Indexed& entry : indexed) {
    const fs::path directory = ResultDirectory(entry.directory);
    std::error_code error;
    const auto raw_bytes = fs::file_size(directory / entry.raw_file_name, error);
    if (!error && IsDirectoryName(entry.directory) &&
        static_cast<int64_t>(raw_bytes) == entry.raw_bytes &&
        CountFiles(directory) == entry.files) {
      whole.push_back(entry.directory);
      continue;
    }
    std::vector<std::string> ignored;
    ISO_RETURN_IF_ERROR(database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                                    mutex_) -> absl::Status {
      ISO_RETURN_IF_ERROR(Remove(entry.job_id, ignored));
      return database_.Execute(
          "UPDATE transfers SET state = ?1, reason = 'the stored result lacks files' "
          "WHERE job_id = ?2 AND state IN (?3, ?4)",
          {static_cast<int>(TransferState::kFailed), entry.job_id,
           static_cast<int>(TransferState::kQueued), static_cast<int>(TransferState::kSending)});
    }));
    repairs_.push_back(absl::StrCat("the stored result of job ", entry.job_id,
                                    " lacks files and was taken out of the index"));
    // What is left of it may matter to somebody.
    if (IsDirectoryName(entry.directory) && fs::exists(directory, error)) {
      ISO_RETURN_IF_ERROR(SetAside(entry.directory));
    }
  }

  // Results that were renamed but not indexed, or deleted from the index but not from the disk. But
  // where a row of the index is damaged, it may be the one that named them.
  const bool all_whole = whole.size() == indexed.size();
  std::sort(whole.begin(), whole.end());
  ISO_ASSIGN_OR_RETURN(const std::vector<fs::path> present, Entries(directory_ / "results"));
  for (const fs::path& path : present) {
    const std::string name = path.filename().string();
    if (std::binary_search(whole.begin(), whole.end(), name)) continue;
    if (!all_whole) {
      ISO_RETURN_IF_ERROR(SetAside(name));
      continue;
    }
    ISO_RETURN_IF_ERROR(RemoveAll(path));
    repairs_.push_back(absl::StrCat("removed result ", name, ", which the index does not hold"));
  }
  return absl::OkStatus();
}

absl::Status Archive::SetAside(const std::string& name) {
  ISO_RETURN_IF_ERROR(MakeDirectory(directory_ / "damaged"));
  ISO_RETURN_IF_ERROR(Rename(ResultDirectory(name), directory_ / "damaged" / name));
  repairs_.push_back(absl::StrCat("the files of a result that is not whole are in damaged/", name));
  return absl::OkStatus();
}

}  // namespace isocenter::archive
