// What flags say of patient, study and X-ray system, judged before anything is sent: by the names
// of the flags, which the service does not know.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "isocenter/v1/acquisition.pb.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// Of the flags of AddPatientFlags and AddXraySystemFlags alone. WrongUsage: the flag, its value
/// and what is legal.
absl::Status CheckIdentityFlags(const v1::PatientStudy& study, const v1::AcquisitionHeader& system);

/// Of a header that these flags have gone into. WrongUsage: a model or serial number without a
/// manufacturer, neither of the flags nor of what was there.
absl::Status CheckManufacturer(const v1::Equipment& equipment);

/// Names as people write them, "Doe, Jane", which are legal and one long family name to DICOM: a
/// PACS would not find the patient by it. A sentence of each.
std::vector<std::string> NamesWithCommas(const v1::AcquisitionHeader& header);

}  // namespace isocenter::cli
