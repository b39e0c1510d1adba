// DCMTK's data dictionary, without which no object can be read or written.
#pragma once

#include "absl/status/status.h"

namespace isocenter::dicom {

/// FAILED_PRECONDITION, saying what to do, when the dictionary is not loaded.
absl::Status CheckDictionary();

}  // namespace isocenter::dicom
