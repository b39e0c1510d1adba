// User of the modality worklist service (C-FIND). Source: DICOM PS3.4, annex K.
#pragma once

#include <functional>
#include <utility>

#include "server/dicom/net/association.h"
#include "server/dicom/net/node_options.h"
#include "server/dicom/net/operations.h"
#include "server/jobs/worklist.h"

namespace isocenter::dicom {

/// Told the outcome of each question. Called from several threads; must be quick. May be empty.
using WorklistObserver = std::function<void(NodeOutcome outcome)>;

/// Asks one peer, on an association of its own for each question. Thread-safe.
class DicomWorklist : public jobs::Worklist {
 public:
  /// `options`: our AE title and PDU size.
  DicomWorklist(Peer peer, NodeOptions options, WorklistObserver observer);

  absl::StatusOr<jobs::WorklistAnswer> Find(const jobs::WorklistQuery& query,
                                            absl::Time deadline) override;
  void Interrupt() override { interruptor_.Interrupt(); }

 private:
  absl::StatusOr<jobs::WorklistAnswer> Ask(const jobs::WorklistQuery& query, absl::Time deadline);

  const Peer peer_;
  const NodeOptions options_;
  const WorklistObserver observer_;
  Interruptor interruptor_;
};

}  // namespace isocenter::dicom
