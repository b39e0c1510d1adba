// DCMTK's data dictionary, without which values cannot be read or written by their representation.
#pragma once

#include "absl/status/status.h"

namespace isocenter::formats {

/// Makes sure that it is loaded: the one that DCMDICTPATH names, else share/isocenter/dicom.dic of
/// an unpacked package, else DCMTK's own. FAILED_PRECONDITION, saying what to do, when there is
/// none. The first call turns off DCMTK's own log, as errors are returned, and may set an
/// environment variable: not beside other threads.
absl::Status CheckDicomDictionary();

}  // namespace isocenter::formats
