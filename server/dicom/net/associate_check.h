// Requests and acceptances of associations in bytes, checked before DCMTK reads them. Source: DICOM
// PS3.8, 9.3.2 and 9.3.3; PS3.7, annex D.3.3.
#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"

namespace isocenter::dicom {

/// Checks the body of an A-ASSOCIATE-RQ (or -AC) PDU: all items lie in what they are in, have what
/// they must have and no more than one of what there is once. DCMTK 3.6.7 keeps for good what it
/// has read of a PDU of which it refuses the rest. Items that the standard does not name are passed
/// over. Errors: INVALID_ARGUMENT.
absl::Status CheckAssociate(std::span<const std::byte> body, bool is_request);

}  // namespace isocenter::dicom
