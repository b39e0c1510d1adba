#include "server/audit/audit_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace isocenter::audit {
namespace {

absl::Status Failed(const char* action, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", action, " the audit file ", path));
}

void PutUnlessEmpty(nlohmann::ordered_json& json, const char* name, const std::string& value) {
  if (!value.empty()) json[name] = value;
}

void PutUnlessEmpty(nlohmann::ordered_json& json, const char* name,
                    const std::vector<std::string>& values) {
  if (!values.empty()) json[name] = values;
}

}  // namespace

std::string ToJsonLine(const Event& event) {
  nlohmann::ordered_json json;
  json["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", event.time, absl::UTCTimeZone());
  json["action"] = std::string(Name(event.action));
  json["outcome"] = std::string(Name(event.outcome));
  PutUnlessEmpty(json, "service", event.service);
  PutUnlessEmpty(json, "actor", event.actor.name);
  PutUnlessEmpty(json, "address", event.actor.address);
  PutUnlessEmpty(json, "certificate", event.actor.certificate_subject);
  PutUnlessEmpty(json, "destination", event.destination);
  PutUnlessEmpty(json, "patient_ids", event.patient_ids);
  PutUnlessEmpty(json, "study_uids", event.study_uids);
  PutUnlessEmpty(json, "job_ids", event.job_ids);
  PutUnlessEmpty(json, "query", event.query);
  if (event.action == Action::kQuery) json["matches"] = event.matches;
  if (event.action == Action::kRetrieve) {
    json["instances"] = event.instances;
    json["failed"] = event.failed;
  }
  PutUnlessEmpty(json, "detail", event.detail);
  // Bytes of a peer that are no UTF-8 are replaced: a record must never be lost for them.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

AuditFile::AuditFile(FileOptions options, int descriptor, uint64_t bytes)
    : options_(std::move(options)), descriptor_(descriptor), bytes_(bytes) {}

AuditFile::AuditFile(AuditFile&& other) noexcept
    : options_(std::move(other.options_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_) {}

AuditFile::~AuditFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<AuditFile> AuditFile::Open(FileOptions options) {
  AuditFile file(std::move(options), -1, 0);
  ISO_RETURN_IF_ERROR(file.Reopen());
  return file;
}

absl::Status AuditFile::Reopen() {
  descriptor_ = open(options_.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return Failed("open", options_.path);
  struct stat about = {};
  bytes_ = fstat(descriptor_, &about) == 0 ? static_cast<uint64_t>(about.st_size) : 0;
  return absl::OkStatus();
}

void AuditFile::Rotate() {
  close(std::exchange(descriptor_, -1));
  const auto name = [&](int number) { return absl::StrCat(options_.path, ".", number); };
  (void)std::remove(name(options_.max_files).c_str());
  for (int number = options_.max_files - 1; number > 0; --number) {
    (void)std::rename(name(number).c_str(), name(number + 1).c_str());
  }
  (void)std::rename(options_.path.c_str(), name(1).c_str());
}

absl::Status AuditFile::Write(const std::string& line) {
  const std::string text = line + "\n";
  if (descriptor_ >= 0 && bytes_ > 0 && bytes_ + text.size() > options_.max_bytes) Rotate();
  if (descriptor_ < 0) ISO_RETURN_IF_ERROR(Reopen());
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t now = write(descriptor_, text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) {
      const absl::Status status = Failed("write to", options_.path);
      // A piece of a line would spoil the next one.
      (void)!ftruncate(descriptor_, static_cast<off_t>(bytes_));
      return status;
    }
    written += static_cast<size_t>(now);
  }
  bytes_ += text.size();
  return absl::OkStatus();
}

}  // namespace isocenter::audit
