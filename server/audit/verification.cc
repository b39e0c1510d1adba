#include "server/audit/verification.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "server/audit/bounds.h"

namespace isocenter::audit {
namespace {

namespace fs = std::filesystem;

/// The lines of a file. A longer one than any record is cut.
class Lines {
 public:
  explicit Lines(const fs::path& path) : file_(path, std::ios::binary) {}
  bool is_open() const { return file_.is_open(); }

  bool Next(std::string& line, bool& has_end) {
    line.clear();
    char c = 0;
    has_end = false;
    while (!has_end && file_.get(c)) {
      has_end = c == '\n';
      if (!has_end && line.size() < kMostLineBytes) line.push_back(c);
    }
    return has_end || !line.empty();
  }

 private:
  std::ifstream file_;
};

struct Found {
  fs::path path;
  int64_t first;
};

/// The number of the first line that is a record; 0: there is none.
absl::StatusOr<int64_t> FirstRecordOf(const fs::path& path) {
  Lines lines(path);
  if (!lines.is_open())
    return absl::PermissionDeniedError(
        absl::StrCat("cannot read ", path.string(), ": ", std::strerror(errno)));
  std::string line;
  bool has_end = false;
  while (lines.Next(line, has_end)) {
    const auto read = ReadChained(line);
    if (read.ok()) return read->link.number;
  }
  return 0;
}

absl::Status Unreadable(const fs::path& directory, const std::error_code& error) {
  return absl::NotFoundError(
      absl::StrCat("cannot read ", directory.string(), ": ", error.message()));
}

absl::StatusOr<std::vector<Found>> FilesOf(const fs::path& directory, Verification& verified) {
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  if (error) return Unreadable(directory, error);
  std::vector<Found> files;
  for (const fs::directory_iterator end; entry != end; entry.increment(error)) {
    if (error) return Unreadable(directory, error);
    if (!entry->is_regular_file(error)) continue;
    ISO_ASSIGN_OR_RETURN(const int64_t first, FirstRecordOf(entry->path()));
    if (first > 0) {
      files.push_back({entry->path(), first});
    } else if (const std::string name = entry->path().string();
               !absl::EndsWith(name, ".sent") && !absl::EndsWith(name, ".lock")) {
      verified.notes.push_back(absl::StrCat(entry->path().string(), " has no record"));
    }
  }
  std::ranges::sort(files, {}, &Found::first);
  return files;
}

/// Follows a chain from line to line.
class Follower {
 public:
  explicit Follower(Verification& verified) : verified_(verified) {}

  absl::Status Follow(const fs::path& path) {
    path_ = path.string();
    Lines lines(path);
    std::string line;
    bool has_end = false;
    for (line_ = 1; lines.Next(line, has_end); ++line_) {
      const auto read = ReadChained(line);
      if (!read.ok()) {
        // A crash leaves the beginning of one record, which the next one has to tell of.
        if (torn_) return *torn_;
        torn_ = Broken(read.status().message());
        torn_bytes_ = static_cast<int64_t>(line.size());
        has_torn_end_ = has_end;
        continue;
      }
      ISO_RETURN_IF_ERROR(Take(*read));
    }
    return absl::OkStatus();
  }

  absl::Status End() {
    if (losses_ > 1) {
      verified_.notes.push_back(
          absl::StrCat(lost_, " records are lost altogether, of which ", losses_, " records tell"));
    }
    if (!torn_) return absl::OkStatus();
    if (has_torn_end_) return *torn_;
    verified_.notes.push_back(absl::StrCat(
        path_, " ends with ", torn_bytes_, " bytes of a record behind record ",
        verified_.last.number, ": it is being written, or the service ended while it was"));
    return absl::OkStatus();
  }

 private:
  absl::Status Broken(absl::string_view why) const {
    return absl::DataLossError(absl::StrCat(path_, ", line ", line_, ", behind record ",
                                            verified_.last.number, ": ", why));
  }

  absl::Status Take(const ChainedLine& line) {
    if (torn_ && line.torn_bytes != torn_bytes_) return *torn_;
    Link& last = verified_.last;
    if (verified_.first == 0) {
      verified_.first = line.link.number;
    } else if (line.link.number > last.number + 1) {
      return Broken(
          absl::StrCat("records ", last.number + 1, " to ", line.link.number - 1, " are missing"));
    } else if (line.link.number <= last.number) {
      return Broken(absl::StrCat("record ", line.link.number, " is there again"));
    } else if (line.previous_hash != last.hash) {
      return Broken(absl::StrCat("record ", line.link.number, " goes on from another record ",
                                 last.number, ": one of them was replaced"));
    }
    if (torn_) {
      verified_.notes.push_back(absl::StrCat(torn_bytes_, " bytes of a record behind record ",
                                             last.number, " are stated by record ",
                                             line.link.number));
      torn_.reset();
    }
    if (line.lost > 0) NoteLoss(line);
    last = line.link;
    return absl::OkStatus();
  }

  /// A trail that says itself what it lacks is whole, but it does not tell everything.
  void NoteLoss(const ChainedLine& line) {
    if (++losses_ <= kMostLossesNoted) {
      verified_.notes.push_back(
          absl::StrCat(line.lost, line.lost == 1 ? " record" : " records", " before record ",
                       line.link.number, " (", path_,
                       ") could not be written and are lost: that record says "
                       "so"));
    }
    lost_ = line.lost < INT64_MAX - lost_ ? lost_ + line.lost : INT64_MAX;
  }

  static constexpr int kMostLossesNoted = 20;

  Verification& verified_;
  int64_t losses_ = 0;  // records that tell of lost ones
  int64_t lost_ = 0;    // records, of all
  std::string path_;
  int64_t line_ = 0;
  std::optional<absl::Status> torn_;  // what is wrong with the line before
  int64_t torn_bytes_ = 0;
  bool has_torn_end_ = false;
};

}  // namespace

absl::StatusOr<Verification> Verify(const std::string& directory) {
  Verification verified;
  ISO_ASSIGN_OR_RETURN(const std::vector<Found> files, FilesOf(directory, verified));
  // A trail that is gone is not a whole one, nor is a directory that was named by mistake.
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no audit records in ", directory,
        "; legal is the directory of audit.file, or one that its files were collected in"));
  }
  Follower follower(verified);
  for (const Found& file : files) {
    ++verified.files;
    ISO_RETURN_IF_ERROR(follower.Follow(file.path));
  }
  ISO_RETURN_IF_ERROR(follower.End());
  if (verified.first > 1) {
    verified.notes.push_back(absl::StrCat("records 1 to ", verified.first - 1,
                                          " are not here: they were collected, or sent"));
  }
  return verified;
}

}  // namespace isocenter::audit
