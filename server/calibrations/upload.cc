#include "server/calibrations/upload.h"

#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"

namespace isocenter::calibrations {

Upload::Upload(Store& store, std::string name, uint64_t file_bytes, std::filesystem::path path,
               storage::OutputFile file)
    : store_(store),
      name_(std::move(name)),
      file_bytes_(file_bytes),
      path_(std::move(path)),
      file_(std::move(file)) {}

Upload::~Upload() {
  std::error_code ignored;  // one that was committed has another name now
  std::filesystem::remove(path_, ignored);
  store_.EndUpload();
}

absl::Status Upload::Append(absl::string_view bytes) {
  if (bytes.size() > file_bytes_ - written_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data has ", written_ + bytes.size(), " bytes in all; legal is file_bytes, ", file_bytes_));
  }
  ISO_RETURN_IF_ERROR(
      file_.WriteAt(written_, std::as_bytes(std::span(bytes.data(), bytes.size()))));
  written_ += bytes.size();
  return absl::OkStatus();
}

absl::StatusOr<v1::KeptCalibration> Upload::Checked() const {
  ISO_ASSIGN_OR_RETURN(v1::CalibrationSet set,
                       wire::ReadCalibrationFile("the set", path_.string()));
  if (set.name() != name_) {
    return absl::InvalidArgumentError(absl::StrCat("name is '", name_, "'; legal is that of the ",
                                                   "set, '", set.name().substr(0, 64), "'"));
  }
  ISO_RETURN_IF_ERROR(wire::CheckCalibrationLabel(set));
  v1::KeptCalibration kept;
  *kept.mutable_label() = wire::CalibrationLabel(set);
  for (std::string& part : wire::CalibrationParts(set)) kept.add_part(std::move(part));
  ISO_RETURN_IF_ERROR(wire::CalibrationFromProto(std::move(set)).status());
  return kept;
}

absl::StatusOr<v1::KeptCalibration> Upload::Commit() {
  if (written_ != file_bytes_) {
    return absl::InvalidArgumentError(
        absl::StrCat("data has ", written_, " bytes in all; legal is file_bytes, ", file_bytes_));
  }
  ISO_ASSIGN_OR_RETURN(v1::KeptCalibration kept, Checked());
  ISO_ASSIGN_OR_RETURN(const auto label, wire::ReadCalibrationLabel(path_.string()));
  kept.set_crc32c(label.header.crc32c);
  kept.set_file_bytes(file_bytes_);
  ISO_RETURN_IF_ERROR(file_.Sync());
  return store_.Keep(path_, std::move(kept));
}

}  // namespace isocenter::calibrations
