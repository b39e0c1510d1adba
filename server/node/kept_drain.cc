#include "server/node/kept_drain.h"

#include <system_error>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/base/regular_file.h"
#include "server/base/log.h"
#include "server/storage/files.h"
#include "server/storage/whole_file.h"

namespace isocenter::node {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = 4096;  // far more than the longest reason and name take
constexpr absl::string_view kSince = "since ", kBy = "by ", kReason = "reason ";

std::string Text(const Drained& drained) {
  return absl::StrCat(kSince,
                      absl::FormatTime(absl::RFC3339_full, drained.since, absl::UTCTimeZone()),
                      "\n", kBy, absl::Utf8SafeCEscape(drained.by), "\n", kReason,
                      absl::Utf8SafeCEscape(drained.reason), "\n");
}

std::optional<Drained> Parse(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.size() != 4 || !lines[3].empty()) return std::nullopt;
  absl::string_view since = lines[0], by = lines[1], reason = lines[2];
  Drained drained;
  std::string ignored;
  if (!absl::ConsumePrefix(&since, kSince) || !absl::ConsumePrefix(&by, kBy) ||
      !absl::ConsumePrefix(&reason, kReason) ||
      !absl::ParseTime(absl::RFC3339_full, since, &drained.since, &ignored) ||
      !absl::CUnescape(by, &drained.by) || !absl::CUnescape(reason, &drained.reason)) {
    return std::nullopt;
  }
  return drained;
}

}  // namespace

std::optional<Drained> KeptDrain::Read() const {
  std::error_code error;
  if (file_.empty() || fs::symlink_status(file_, error).type() == fs::file_type::not_found) {
    return std::nullopt;
  }
  const absl::StatusOr<std::string> text =
      ReadRegularFile("the record of a drain", file_.string(), kMostBytes);
  std::optional<Drained> drained = text.ok() ? Parse(*text) : std::nullopt;
  if (drained) return drained;
  spdlog::error("event=drain_record_damaged file=\"{}\" why=\"{}\"", file_.string(),
                text.ok() ? "it does not say since when, by whom and why"
                          : std::string(text.status().message()));
  return Drained{absl::Now(), absl::StrCat("the record of why is damaged (", kFileName, ")"),
                 "unknown"};
}

absl::Status KeptDrain::Keep(const Drained& drained) const {
  return file_.empty() ? absl::OkStatus() : storage::WriteWhole(file_, Text(drained));
}

absl::Status KeptDrain::Forget() const {
  if (file_.empty()) return absl::OkStatus();
  std::error_code error;
  if (!fs::remove(file_, error)) {
    return error ? storage::FileError(error.value(), "remove", file_) : absl::OkStatus();
  }
  return storage::SyncDirectory(file_.parent_path());
}

}  // namespace isocenter::node
