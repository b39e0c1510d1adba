#include "server/calibrations/store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/calibration.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"
#include "proto/wire/geometry.h"
#include "server/base/log.h"
#include "server/base/try_again.h"
#include "server/calibrations/upload.h"
#include "server/storage/files.h"

namespace isocenter::calibrations {
namespace {

namespace fs = std::filesystem;

constexpr char kEnding[] = ".isocal", kMark[] = ".withdrawn", kStaged[] = "incoming.part",
               kDamaged[] = ".damaged";

absl::Time ChangeTime(const fs::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return absl::UnixEpoch();
  return absl::TimeFromTimespec(status.st_mtim);
}

absl::Status NoSuchSet(const std::string& name) {
  return absl::NotFoundError(
      absl::StrCat("calibration is '", name.substr(0, 64),
                   "'; `isocenter calibrations list` shows those that are kept"));
}

/// When it was made, as far as it says.
absl::Time Created(const v1::CalibrationSet& label) {
  return wire::TimeFromProto(label.has_created() ? label.created() : label.valid_from());
}

jobs::CalibrationLabel LabelOf(const v1::KeptCalibration& kept) {
  const v1::CalibrationSet& label = kept.label();
  const auto has = [&](absl::string_view part) {
    return std::ranges::find(kept.part(), part) != kept.part().end();
  };
  return {.name = label.name(),
          .station_name = label.station_name(),
          .detector_mode = label.detector_mode(),
          .detector = *wire::DetectorFromProto(label.detector()),
          .tube_voltage_kv = label.tube_voltage_kv(),
          .valid_from = wire::TimeFromProto(label.valid_from()),
          .valid_until = wire::TimeFromProto(label.valid_until()),
          .created = Created(label),
          .verified = label.has_verification()
                          ? std::optional(wire::TimeFromProto(label.verification().time()))
                          : std::nullopt,
          .withdrawn = kept.has_withdraw_time(),
          .parts = {kept.part().begin(), kept.part().end()},
          .has_bone = has("bone"),
          .has_scatter_model = has("scatter_model") && has("water"),
          .geometry_frames = static_cast<int>(label.geometry_frames()),
          .crc32c = kept.crc32c(),
          .bytes = static_cast<int64_t>(kept.file_bytes())};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(StoreOptions options) {
  if (mkdir(options.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return storage::FileError(errno, "create directory", options.directory);
  }
  ISO_RETURN_IF_ERROR(storage::SyncDirectory(options.directory.parent_path()));
  ISO_ASSIGN_OR_RETURN(storage::Lock lock, storage::Lock::OfDirectory(options.directory));
  std::unique_ptr<Store> store(new Store(std::move(options), std::move(lock)));
  ISO_RETURN_IF_ERROR(store->ReadDirectory());
  return store;
}

fs::path Store::FileOf(const std::string& name) const {
  return options_.directory / absl::StrCat(name, kEnding);
}

fs::path Store::MarkOf(const std::string& name) const {
  return options_.directory / absl::StrCat(name, kMark);
}

absl::Status Store::ReadDirectory() {
  std::error_code error;
  if (fs::remove(options_.directory / kStaged, error)) {
    repairs_.push_back("removed a calibration that was being added when the service stopped");
  }
  std::vector<fs::path> files;
  for (auto it = fs::directory_iterator(options_.directory, error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    if (it->path().extension() == kEnding) files.push_back(it->path());
  }
  if (error) return storage::FileError(error.value(), "list", options_.directory);
  absl::MutexLock lock(&mutex_);
  for (const fs::path& file : files) TakeUp(file);
  return absl::OkStatus();
}

void Store::TakeUp(const fs::path& file) {
  const std::string name = file.stem().string();
  const auto label = wire::ReadCalibrationLabel(file.string());
  if (!label.ok() || label->set.name() != name) {
    std::error_code ignored;
    fs::rename(file, absl::StrCat(file.string(), kDamaged), ignored);
    repairs_.push_back(absl::StrCat(
        "set ", file.filename().string(),
        " aside: ", label.ok() ? "it has the name of another set" : label.status().message()));
    return;
  }
  v1::KeptCalibration& kept = kept_[name];
  *kept.mutable_label() = label->set;
  kept.set_crc32c(label->header.crc32c);
  kept.set_file_bytes(wire::kCalibrationHeaderBytes + label->header.message_bytes);
  for (const std::string& part : label->parts) kept.add_part(part);
  SetTimes(kept);
}

void Store::SetTimes(v1::KeptCalibration& kept) const {
  const std::string& name = kept.label().name();
  wire::SetTime(ChangeTime(FileOf(name)), *kept.mutable_add_time());
  std::error_code ignored;
  if (fs::exists(MarkOf(name), ignored)) {
    wire::SetTime(ChangeTime(MarkOf(name)), *kept.mutable_withdraw_time());
  }
}

std::vector<jobs::CalibrationLabel> Store::Labels() const {
  std::vector<jobs::CalibrationLabel> labels;
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, kept] : kept_) labels.push_back(LabelOf(kept));
  return labels;
}

std::vector<v1::KeptCalibration> Store::List(const std::string& station, bool withdrawn,
                                             size_t most) const {
  std::vector<v1::KeptCalibration> found;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, kept] : kept_) {
      const bool is_of = station.empty() || kept.label().station_name() == station;
      if (is_of && (withdrawn || !kept.has_withdraw_time())) found.push_back(kept);
    }
  }
  std::ranges::stable_sort(
      found, [](const auto& a, const auto& b) { return Created(a.label()) > Created(b.label()); });
  if (found.size() > most) found.resize(most);
  return found;
}

absl::StatusOr<v1::KeptCalibration> Store::Find(const std::string& name) const {
  absl::MutexLock lock(&mutex_);
  const auto found = kept_.find(name);
  if (found == kept_.end()) return NoSuchSet(name);
  return found->second;
}

absl::Status Store::Damaged(const std::string& name, const absl::Status& why) {
  // That it cannot be opened now says nothing about it.
  if (absl::IsPermissionDenied(why)) return absl::InternalError(why.message());
  spdlog::error("event=calibration_damaged name={} error=\"{}\"", name, why.ToString());
  std::error_code ignored;
  fs::rename(FileOf(name), absl::StrCat(FileOf(name).string(), kDamaged), ignored);
  absl::MutexLock lock(&mutex_);
  kept_.erase(name);
  return absl::DataLossError(absl::StrCat("calibration '", name, "' is damaged: ", why.message()));
}

absl::StatusOr<std::shared_ptr<const ops::Calibration>> Store::Load(
    const jobs::UsedCalibration& used) {
  ISO_ASSIGN_OR_RETURN(const v1::KeptCalibration kept, Find(used.name));
  if (kept.crc32c() != used.crc32c) return NoSuchSet(used.name);
  absl::StatusOr<v1::CalibrationSet> set =
      wire::ReadCalibrationFile("the set", FileOf(used.name).string());
  absl::StatusOr<ops::Calibration> calibration =
      set.ok() ? wire::CalibrationFromProto(*std::move(set)) : set.status();
  if (calibration.ok()) return std::make_shared<const ops::Calibration>(*std::move(calibration));
  return Damaged(used.name, calibration.status());
}

absl::StatusOr<Trajectory> Store::LoadGeometry(const jobs::UsedCalibration& used) {
  ISO_ASSIGN_OR_RETURN(const v1::KeptCalibration kept, Find(used.name));
  if (kept.crc32c() != used.crc32c) return NoSuchSet(used.name);
  const absl::StatusOr<v1::CalibrationSet> set =
      wire::ReadCalibrationFile("the set", FileOf(used.name).string());
  absl::StatusOr<Trajectory> trajectory =
      set.ok() ? wire::GeometryFromProto(*set) : absl::StatusOr<Trajectory>(set.status());
  if (trajectory.ok()) return trajectory;
  return Damaged(used.name, trajectory.status());
}

absl::StatusOr<fs::path> Store::VerifiedFile(const std::string& name) {
  ISO_RETURN_IF_ERROR(Find(name).status());
  const absl::Status intact = wire::VerifyCalibrationFile(FileOf(name).string());
  if (intact.ok()) return FileOf(name);
  return Damaged(name, intact);
}

absl::StatusOr<v1::KeptCalibration> Store::Withdraw(const std::string& name) {
  absl::MutexLock changing(&changing_);
  ISO_ASSIGN_OR_RETURN(v1::KeptCalibration kept, Find(name));
  if (kept.has_withdraw_time()) return kept;
  std::error_code error;
  if (!fs::exists(MarkOf(name), error)) {
    ISO_ASSIGN_OR_RETURN(storage::OutputFile mark, storage::OutputFile::Create(MarkOf(name)));
    ISO_RETURN_IF_ERROR(mark.Sync());
  }
  ISO_RETURN_IF_ERROR(storage::SyncDirectory(options_.directory));
  SetTimes(kept);
  absl::MutexLock lock(&mutex_);
  kept_[name] = kept;
  return kept;
}

// ---- Adding ------------------------------------------------------------------------------------

absl::Status Store::CheckRoom(uint64_t file_bytes) const {
  uint64_t bytes = file_bytes;
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, kept] : kept_) bytes += kept.file_bytes();
  if (static_cast<int>(kept_.size()) >= options_.most_sets) {
    return absl::ResourceExhaustedError(absl::StrCat(kept_.size(),
                                                     " calibrations are kept; legal "
                                                     "is at most ",
                                                     options_.most_sets));
  }
  if (bytes > static_cast<uint64_t>(options_.most_bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat("calibrations would take ", BytesText(bytes),
                                                     " of the archive; legal is at most ",
                                                     BytesText(options_.most_bytes)));
  }
  return storage::CheckFreeBytes(options_.directory, file_bytes);
}

absl::StatusOr<std::unique_ptr<Upload>> Store::Begin(const std::string& name, uint64_t file_bytes) {
  if (file_bytes <= wire::kCalibrationHeaderBytes ||
      file_bytes > uint64_t{wire::kMostCalibrationFileBytes}) {
    return absl::InvalidArgumentError(absl::StrCat("file_bytes is ", file_bytes, "; legal is ",
                                                   wire::kCalibrationHeaderBytes + 1, " to ",
                                                   wire::kMostCalibrationFileBytes));
  }
  absl::MutexLock changing(&changing_);
  if (uploading_) {
    return FullForNow(
        "another calibration is being added; legal is one at a time; try again when it is there");
  }
  if (!Find(name).ok()) ISO_RETURN_IF_ERROR(CheckRoom(file_bytes));
  const fs::path staged = options_.directory / kStaged;
  auto file = storage::OutputFile::Create(staged, file_bytes);
  if (!file.ok()) {
    std::error_code ignored;
    fs::remove(staged, ignored);
    return file.status();
  }
  uploading_ = true;
  return std::unique_ptr<Upload>(new Upload(*this, name, file_bytes, staged, *std::move(file)));
}

absl::StatusOr<v1::KeptCalibration> Store::Keep(const fs::path& staged, v1::KeptCalibration kept) {
  const std::string& name = kept.label().name();
  absl::MutexLock changing(&changing_);
  if (const auto found = Find(name); found.ok()) {
    if (found->crc32c() == kept.crc32c() && found->file_bytes() == kept.file_bytes()) return found;
    return absl::AlreadyExistsError(
        absl::StrCat("another calibration '", name,
                     "' is kept, for good; legal is a name of its own, which "
                     "`isocenter calibrate --name` gives a set"));
  }
  std::error_code error;
  fs::rename(staged, FileOf(name), error);
  if (error) return storage::FileError(error.value(), "rename", staged);
  ISO_RETURN_IF_ERROR(storage::SyncDirectory(options_.directory));
  SetTimes(kept);
  absl::MutexLock lock(&mutex_);
  return kept_[name] = std::move(kept);
}

void Store::EndUpload() {
  absl::MutexLock changing(&changing_);
  uploading_ = false;
}

}  // namespace isocenter::calibrations
