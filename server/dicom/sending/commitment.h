// Storage commitment, push model, as user. Source: DICOM PS3.4, annex J.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/archive/transfer_queue.h"
#include "server/dicom/net/association.h"

namespace isocenter::dicom {

/// N-ACTION: asks the other side to commit itself to keeping instances. The association is ours,
/// with a context for the Storage Commitment Push Model. Errors: UNIMPLEMENTED (the other side does
/// not offer it), FAILED_PRECONDITION (it refuses the request), UNAVAILABLE (the association
/// broke).
absl::Status RequestCommitment(Association& association, const archive::CommitmentRequest& request,
                               int timeout_seconds);

/// Serves reports on the association of a request for some time, as some providers send them at
/// once. Returns early when the other side ends the association; errors do not matter, as the
/// report can come again.
void AwaitReport(Association& association, archive::TransferQueue& queue, absl::Duration patience,
                 int timeout_seconds);

}  // namespace isocenter::dicom
