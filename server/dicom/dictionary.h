// DCMTK's data dictionary, without which no object can be read or written.
#pragma once

#include "absl/status/status.h"

namespace isocenter::dicom {

/// Makes sure that the dictionary is loaded: DCMTK's own, or ../share/isocenter/dicom.dic beside
/// the program's folder. FAILED_PRECONDITION, saying what to do, when there is none. Thread-safe.
absl::Status CheckDictionary();

}  // namespace isocenter::dicom
