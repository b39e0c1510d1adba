// One set on its way into the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/calibrations/store.h"
#include "server/storage/files.h"

namespace isocenter::calibrations {

/// Its bytes go to a file of their own as they come; nothing is left of it unless it was committed.
/// Not thread-safe; the store outlives it.
class Upload {
 public:
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  /// The next bytes. Errors: INVALID_ARGUMENT (more than were announced), RESOURCE_EXHAUSTED,
  /// INTERNAL.
  absl::Status Append(absl::string_view bytes);
  /// All of them have come: checks the set and keeps it. The very same set again gives the one that
  /// is kept. Takes three times its bytes of memory for a while. Errors: INVALID_ARGUMENT (fewer
  /// than were announced; the set), DATA_LOSS (a checksum), ALREADY_EXISTS (another set has its
  /// name), RESOURCE_EXHAUSTED, INTERNAL.
  absl::StatusOr<v1::KeptCalibration> Commit();

 private:
  friend class Store;
  Upload(Store& store, std::string name, uint64_t file_bytes, std::filesystem::path path,
         storage::OutputFile file);
  /// What it is, where it is legal in all.
  absl::StatusOr<v1::KeptCalibration> Checked() const;

  Store& store_;
  const std::string name_;
  const uint64_t file_bytes_;
  const std::filesystem::path path_;
  storage::OutputFile file_;
  uint64_t written_ = 0;
};

}  // namespace isocenter::calibrations
