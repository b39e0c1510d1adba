// Command sets in bytes, checked before DCMTK reads them. Source: DICOM PS3.7, 6.3.1 and annex E.
#pragma once

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"

namespace isocenter::dicom {

struct CommandFacts {
  bool is_whole = false;            // no element is cut
  bool announces_data_set = false;  // one follows, by Command Data Set Type
};

/// Checks a command set, or as much of it as has come. All elements are of group 0000, in ascending
/// order, each once, and have a length, so that none is a sequence. Commands that never have a data
/// set announce none, whatever they say. Errors: INVALID_ARGUMENT.
absl::StatusOr<CommandFacts> CheckCommand(std::span<const std::byte> bytes);

}  // namespace isocenter::dicom
