// Reports of storage commitment, push model, as user. Source: DICOM PS3.4, annex J.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "server/archive/transfer_queue.h"
#include "server/dicom/net/association.h"

struct T_DIMSE_N_EventReportRQ;

namespace isocenter::dicom {

/// Receives what follows an N-EVENT-REPORT request on `context`, applies the report to the queue
/// and answers. Errors end the association: UNAVAILABLE.
absl::Status ReceiveReport(Association& association, uint8_t context,
                           const T_DIMSE_N_EventReportRQ& request, archive::TransferQueue& queue,
                           int timeout_seconds);

}  // namespace isocenter::dicom
