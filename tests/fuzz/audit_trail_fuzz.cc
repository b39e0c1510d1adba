// Files of the audit trail: a closed one, up to a NUL, and the open one. Of a line that begins with
// '+' the rest is a record that is put into the chain; of one that begins with '=' a digest is
// added that is right.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/audit/audit_file.h"
#include "server/audit/audit_message.h"
#include "server/audit/chain.h"
#include "server/audit/json_line.h"
#include "server/audit/trail_reader.h"
#include "server/audit/verification.h"
#include "server/base/log.h"
#include "server/crypto/digests.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

namespace {

std::string LineOf(absl::string_view line, audit::Link& last) {
  if (absl::ConsumePrefix(&line, "+") && line.size() >= 2) return audit::Chain(line, last);
  if (!absl::ConsumePrefix(&line, "=")) return std::string(line);
  return absl::StrCat(line, R"(,"hash":")", crypto::Sha256Hex(line), "\"}");
}

std::string FileOf(absl::string_view lines, audit::Link& last) {
  std::string file;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    absl::StrAppend(&file, file.empty() ? "" : "\n", LineOf(line, last));
  }
  return file;
}

/// What a record that is read is used for.
void Use(const audit::NumberedEvent& record) {
  const std::string kept = audit::ToJson(record.event);
  const auto again = audit::FromJson(kept);
  fuzz::Require(again.ok() && audit::ToJson(*again) == kept, "a record survives being written");
  if (!audit::HasMessage(record.event)) return;
  const std::string frame = audit::ToSyslogFrame(record, "source", "host", 1);
  fuzz::Require(frame.find('\n') == std::string::npos, "a message is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool is_silent = (spdlog::set_level(spdlog::level::off), true);
  (void)is_silent;
  const std::filesystem::path directory = fuzz::Directory() / "trail";
  std::filesystem::remove_all(directory);  // what is put aside stays there
  std::filesystem::create_directory(directory);
  const std::string path = directory / "audit.jsonl";
  fuzz::Input input(data, size);
  audit::Link last;
  fuzz::FileOf(FileOf(input.TakeText(), last), "trail/audit.jsonl.000000000001");
  fuzz::FileOf(FileOf(input.TakeRest(), last), "trail/audit.jsonl");

  audit::TrailReader reader(path);
  int64_t behind = 0;
  for (auto next = reader.Next(behind); next.ok(); next = reader.Next(behind)) {
    fuzz::Require(next->number > behind, "records are read once");
    behind = next->number;
    Use(*next);
  }
  const auto whole = audit::Verify(directory);
  auto file = audit::AuditFile::Open({.path = path, .max_bytes = 1 << 16});
  fuzz::Require(file.ok() && file->Write({.detail = "one more"}).ok(), "a trail goes on");
  // Where the second file has no record, a torn end may follow another.
  const bool was_whole = whole.ok() && whole->files == 2;
  fuzz::Require(!was_whole || audit::Verify(directory).ok(), "a whole trail stays whole");
  return 0;
}
