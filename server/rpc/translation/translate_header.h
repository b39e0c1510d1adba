// The acquisition header, checked field by field.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isocenter/v1/acquisition.pb.h"
#include "server/config/protocol_book.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::rpc {

/// Bytes of a Frame message besides its pixels: index, checksum, a matrix, field keys and lengths,
/// and some for fields of later versions.
inline constexpr int64_t kFrameOverheadBytes = 4096;

/// Everything about a header that can be said without looking at jobs and devices. Errors:
/// INVALID_ARGUMENT naming field, value and what is legal (marked private where the value may
/// identify a patient), NOT_FOUND (protocol).
absl::StatusOr<pipeline::AcquisitionRequest> TranslateHeader(const v1::AcquisitionHeader& header,
                                                             const config::ProtocolBook& protocols,
                                                             int64_t max_message_bytes);

/// The header that a console repeats to go on with a job, which keeps the protocol that it has: one
/// that is named need not exist any more, and its settings are not there. Where the header leaves
/// its trajectory to the service, `geometry` has the name that it gives, if any, and the trajectory
/// is one of so many frames only. Errors: INVALID_ARGUMENT, as above.
absl::StatusOr<pipeline::AcquisitionRequest> TranslateRepeated(const v1::AcquisitionHeader& header);

/// AcquisitionRequest::record as TranslateHeader made it, perhaps before a restart: the acquisition
/// with the protocol as it was. Errors: DATA_LOSS, INVALID_ARGUMENT.
absl::StatusOr<pipeline::AcquisitionRequest> TranslateRecord(const std::string& record);

/// The record with what was chosen for it.
std::string AddCalibration(const std::string& record, const jobs::UsedCalibration& calibration);

/// The record with the set that the header's matrices are of.
std::string AddGeometry(const std::string& record, const jobs::UsedCalibration& geometry);

}  // namespace isocenter::rpc
