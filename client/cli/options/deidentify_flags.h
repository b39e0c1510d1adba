// The flags of a de-identified export.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/flags/command.h"
#include "client/formats/dicom/deidentify.h"

namespace isocenter::cli {

struct DeidentifyFlags {
  bool deidentify = false;
  std::vector<std::string> keep;
  std::string key_file;
};

/// --deidentify, --keep, --deidentify-key.
void AddDeidentifyFlags(flags::Command command, DeidentifyFlags& flags);

/// Nothing without --deidentify; else says on standard error what is not covered. Errors: those of
/// Deidentifier::Create and of the key file; INVALID_ARGUMENT (--keep without --deidentify).
absl::StatusOr<std::optional<formats::Deidentifier>> MakeDeidentifier(const DeidentifyFlags& flags);

}  // namespace isocenter::cli
