// What the table and the spool hold after a restart goes on.
#pragma once

#include "absl/status/status.h"
#include "server/pipeline/acquisitions.h"
#include "server/pipeline/engine_environment.h"
#include "server/pipeline/refinements.h"

namespace isocenter::pipeline {

/// Makes active again, or ends, what was active when the service stopped. Before anything is
/// admitted.
class Recovery {
 public:
  Recovery(const EngineParts& parts, Acquisitions& acquisitions, Refinements& refinements)
      : parts_(parts), acquisitions_(acquisitions), refinements_(refinements) {}

  /// Once. Jobs that cannot go on fail with the reason. The others wait for a run.
  void Recover();

 private:
  absl::Status GoOnWithRefinement(const jobs::Job& job);
  absl::Status GoOnWithAcquisition(const jobs::Job& job);
  /// The process ended between the volume and the record.
  absl::Status CompleteStored(const jobs::Job& job, const jobs::StoredSeries& stored);
  void Fail(const jobs::Job& job, const absl::Status& why);

  const EngineParts& parts_;
  Acquisitions& acquisitions_;
  Refinements& refinements_;
};

}  // namespace isocenter::pipeline
