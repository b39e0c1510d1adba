// DCMTK's data dictionary, without which no object can be read or written.
#pragma once

#include "absl/status/status.h"

namespace isocenter::dicom {

/// Makes sure that the dictionary is loaded: the one that DCMDICTPATH names, else
/// ../share/isocenter/dicom.dic beside the program's folder, else DCMTK's own. FAILED_PRECONDITION,
/// saying what to do, when there is none. The first call sets an environment variable: make it
/// before other threads start.
absl::Status CheckDictionary();

}  // namespace isocenter::dicom
