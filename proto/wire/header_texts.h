// The texts of an acquisition header, which DICOM and the archive must be able to hold.
#pragma once

#include "absl/status/status.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::wire {

/// Who the patient is, who performed it, and what the series is called: texts that may identify
/// somebody. Errors: INVALID_ARGUMENT naming the field, its value and what is legal.
absl::Status CheckPrivateTexts(const v1::AcquisitionHeader& header);

/// Station, detector mode, names of sets, body part, laterality and equipment. Errors: as above.
absl::Status CheckOtherTexts(const v1::AcquisitionHeader& header);

}  // namespace isocenter::wire
