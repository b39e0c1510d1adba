// Why an association failed, in words of ours.
#pragma once

#include <string>

#include "dcmtk/config/osconfig.h"
#include "dcmtk/dcmnet/assoc.h"

namespace isocenter::dicom {

/// A sentence's part: what people can do something about is said without the library's words, the
/// rest as the library says it.
std::string FailureText(const OFCondition& condition);

/// Why the peer rejected the association that was requested with these. Source: DICOM PS3.8, 9.3.4.
std::string RejectionText(T_ASC_Parameters& parameters);

}  // namespace isocenter::dicom
