// Refinements from the wire and from what is kept of them.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "isocenter/v1/jobs.pb.h"
#include "server/config/protocol_book.h"
#include "server/pipeline/refinement_request.h"

namespace isocenter::rpc {

/// What a protocol does after FDK; nothing where it has no refinement.
std::optional<pipeline::RefinementRequest> RefinementOf(const config::Protocol& protocol);

/// `source_protocol` is the name of that of the job. Errors: INVALID_ARGUMENT naming field, value
/// and what is legal; NOT_FOUND (protocol).
absl::StatusOr<pipeline::RefinementRequest> TranslateRefineRequest(
    const v1::RefineJobRequest& request, const std::string& source_protocol,
    const config::ProtocolBook& protocols);

/// RefinementRequest::record as it was made, perhaps before a restart; a phase, which it does not
/// hold, is the job's (pipeline::AddPhase). Errors: DATA_LOSS, INVALID_ARGUMENT.
absl::StatusOr<pipeline::RefinementRequest> TranslateRefinementRecord(const std::string& record);

}  // namespace isocenter::rpc
