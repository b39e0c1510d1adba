// User of the modality performed procedure step service (N-CREATE, N-SET). Source: DICOM PS3.4,
// annex F.7.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/archive/procedure_step_queue.h"
#include "server/dicom/net/association.h"

namespace isocenter::dicom {

/// What a provider has made of a message.
struct ProcedureStepAnswer {
  enum class Kind {
    kTaken,     // or it had been taken already, and only the answer was lost
    kRejected,  // may be taken later
    kRefused    // will never be taken
  };
  Kind kind = Kind::kTaken;
  std::string text;  // e.g. "status 0110"; empty when taken
};

/// An association for SendProcedureStep. Errors: UNAVAILABLE.
absl::StatusOr<Association> RequestProcedureSteps(const Peer& peer, const NodeOptions& options,
                                                  Interruptor& interruptor);

/// Sends a message and waits for its answer. Errors: UNAVAILABLE (the association has broken, or no
/// answer comes), DATA_LOSS (the message cannot be read).
absl::StatusOr<ProcedureStepAnswer> SendProcedureStep(
    Association& association, const archive::ProcedureStepQueue::Message& message);

}  // namespace isocenter::dicom
