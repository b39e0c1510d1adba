// Putting right what a crash has left of an archive.
#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"
#include "server/archive/directories.h"
#include "server/archive/job_json.h"

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
      ISO_RETURN_IF_ERROR(RecordLoss(entry.job_id));
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
      ISO_RETURN_IF_ERROR(SetAside(entry.directory, "what is left of it"));
    }
  }

  // A crash leaves a result that the index does not name: one that was renamed but not indexed, or
  // deleted from the index but not from the disk. An index that has been lost, is older than the
  // results or has a damaged row leaves just such ones, and they may be nowhere else.
  std::sort(whole.begin(), whole.end());
  ISO_ASSIGN_OR_RETURN(const std::vector<fs::path> present, Entries(directory_ / "results"));
  std::error_code error;
  for (const fs::path& path : present) {
    const std::string name = path.filename().string();
    if (std::binary_search(whole.begin(), whole.end(), name)) continue;
    if (fs::is_directory(path, error) && CountFiles(path) == 0) {
      ISO_RETURN_IF_ERROR(RemoveAll(path));
      repairs_.push_back(absl::StrCat("removed result ", name, ", which had no files"));
      continue;
    }
    ISO_RETURN_IF_ERROR(
        SetAside(name, absl::StrCat("result ", name, ", which the index does not name,")));
    ++unnamed_.count;
  }
  bool has_jobs = false;
  ISO_RETURN_IF_ERROR(
      database_.Query("SELECT 1 FROM jobs LIMIT 1", {}, [&](const Row&) { has_jobs = true; }));
  unnamed_.index_is_empty = indexed.empty() && !has_jobs;
  return absl::OkStatus();
}

absl::Status Archive::RecordLoss(const std::string& job_id) {
  std::string record;
  ISO_RETURN_IF_ERROR(database_.Query("SELECT record FROM jobs WHERE id = ?1", {job_id},
                                      [&](const Row& row) { record = row.Text(0); }));
  absl::StatusOr<jobs::Job> job = JobFromJson(record);
  // One that is none, or that cannot be read, says nothing of a result.
  if (!job.ok() || job->state != jobs::JobState::kCompleted) return absl::OkStatus();
  job->state = jobs::JobState::kFailed;
  job->error = absl::DataLossError(absl::StrCat(
      "the volume was completed and its stored result is lost: when the service started at ",
      absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::Now(), absl::UTCTimeZone()),
      ", files of it were missing; what was sent before is at its destinations, else put the "
      "archive back from a backup, or delete the job"));
  return database_.Execute("UPDATE jobs SET state = ?1, record = ?2 WHERE id = ?3",
                           {std::string(jobs::Name(job->state)), JobToJson(*job), job_id});
}

absl::Status Archive::SetAside(const std::string& name, absl::string_view which) {
  ISO_RETURN_IF_ERROR(MakeDirectory(unnamed_.directory));
  fs::path target = unnamed_.directory / name;
  // The same result may have been set aside before, and been put back since from a copy.
  std::error_code ignored;
  for (int again = 2; fs::exists(target, ignored); ++again) {
    target = unnamed_.directory / absl::StrCat(name, ".", again);
  }
  ISO_RETURN_IF_ERROR(Rename(ResultDirectory(name), target));
  repairs_.push_back(absl::StrCat(which, " is now ", target.string()));
  return absl::OkStatus();
}

absl::Status Archive::Discard(const std::string& name) {
  const fs::path discarded = StagingDirectory() / name;
  return RemoveAll(Rename(ResultDirectory(name), discarded).ok() ? discarded
                                                                 : ResultDirectory(name));
}

}  // namespace isocenter::archive
