// What the table and the spool hold after a restart goes on.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/acquisitions.h"
#include "server/pipeline/refinements.h"
#include "server/pipeline/request_decoders.h"

namespace isocenter::pipeline {

/// All of it outlives the recovery.
struct RecoveryEnvironment {
  jobs::JobTable& table;
  jobs::FrameSpool& spool;
  jobs::ResultStore& results;
  jobs::JobObserver& observer;
  Acquisitions& acquisitions;
  Refinements& refinements;
  const RequestDecoders& decoders;
  std::function<absl::Time()> clock;
};

/// Makes active again, or ends, what was active when the service stopped. Before anything is
/// admitted.
class Recovery {
 public:
  explicit Recovery(RecoveryEnvironment environment) : environment_(std::move(environment)) {}

  /// Once. Jobs that cannot go on fail with the reason. The others wait for a run.
  void Recover();

 private:
  absl::Status GoOnWithRefinement(const jobs::Job& job);
  absl::Status GoOnWithAcquisition(const jobs::Job& job);
  /// The process ended between the volume and the record.
  absl::Status CompleteStored(const jobs::Job& job, const jobs::StoredSeries& stored);
  void Fail(const jobs::Job& job, const absl::Status& why);

  const RecoveryEnvironment environment_;
};

}  // namespace isocenter::pipeline
