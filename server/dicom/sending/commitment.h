// Storage commitment, push model, as user. Source: DICOM PS3.4, annex J.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/archive/transfer_queue.h"
#include "server/dicom/association.h"

struct T_DIMSE_N_EventReportRQ;

namespace isocenter::dicom {

struct Session;

/// N-ACTION: asks the other side to commit itself to keeping instances. The association is ours,
/// with a context for the Storage Commitment Push Model. Errors: UNIMPLEMENTED (the other side does
/// not offer it), FAILED_PRECONDITION (it refuses the request), UNAVAILABLE (the association
/// broke).
absl::Status RequestCommitment(Association& association, const archive::CommitmentRequest& request,
                               int timeout_seconds);

/// Receives what follows an N-EVENT-REPORT request on `context`, applies the report to the queue
/// and answers. Errors end the association: UNAVAILABLE.
absl::Status ReceiveReport(Association& association, uint8_t context,
                           const T_DIMSE_N_EventReportRQ& request, archive::TransferQueue& queue,
                           int timeout_seconds);

/// Serves reports on the association of a request for some time, as some providers send them at
/// once. Returns early when the other side ends the association; errors do not matter, as the
/// report can come again.
void AwaitReport(Association& association, archive::TransferQueue& queue, absl::Duration patience,
                 int timeout_seconds);

/// Serves a report on an association that the other side has opened.
absl::Status ServeReport(Session& session, uint8_t context, const T_DIMSE_N_EventReportRQ& request);

}  // namespace isocenter::dicom
