// De-identification of the objects that the service makes. docs/adr/0018-deidentification.md.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::formats {

/// What is retained beyond the Basic Application Level Confidentiality Profile (PS3.15 E.2), each
/// with the option of the standard that it is.
struct DeidentifyOptions {
  bool shifted_dates = false;            // Longitudinal Temporal Information, Modified Dates
  bool patient_characteristics = false;  // sex, age, size, weight
  bool device_identity = false;          // station, serial numbers
  bool institution_identity = false;
};

/// Replaces identities consistently: the same key gives the same replacements in every object, so
/// what belonged together still does; without the key nothing leads back. Thread-safe.
class Deidentifier {
 public:
  static constexpr size_t kLeastKeyBytes = 16;

  /// Errors: INVALID_ARGUMENT (a key of less than kLeastKeyBytes), FAILED_PRECONDITION (DCMTK's
  /// dictionary is not loaded).
  static absl::StatusOr<Deidentifier> Create(std::string key, const DeidentifyOptions& options);

  /// A DICOM file (PS3.10) without identity, in its transfer syntax; the pixels are not touched, as
  /// reconstructed volumes hold no text. Only attributes that the table of deidentify_rules.h knows
  /// are kept, at any depth. Errors: INVALID_ARGUMENT (not a DICOM file), INTERNAL.
  absl::StatusOr<std::vector<std::byte>> Clean(std::span<const std::byte> file) const;

  /// What stands for a UID.
  std::string Uid(absl::string_view uid) const;

 private:
  friend class DatasetCleaner;
  Deidentifier(std::string key, const DeidentifyOptions& options)
      : key_(std::move(key)), options_(options) {}
  std::string Digest(absl::string_view purpose, absl::string_view text) const;

  std::string key_;
  DeidentifyOptions options_;
};

/// 32 bytes that nobody knows. Errors: INTERNAL (no entropy).
absl::StatusOr<std::string> RandomKey();

}  // namespace isocenter::formats
