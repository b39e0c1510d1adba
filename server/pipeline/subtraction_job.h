// Fill minus mask: the third volume of a pair (3-D DSA).
#pragma once

#include "absl/status/status.h"
#include "server/pipeline/active_job.h"
#include "server/pipeline/pair.h"
#include "server/scheduler/promised_memory.h"

namespace isocenter::pipeline {

/// A new subtraction of two completed halves, as the table keeps it.
jobs::Job SubtractionRecord(const jobs::Job& mask, const jobs::Job& fill, absl::Time now);

/// Subtracts the stored volumes of a pair, voxel by voxel in Hounsfield units, while the exporter
/// stores the difference. Thread-safe.
class SubtractionJob : public ActiveJob {
 public:
  /// `job` as the table has it, of a pair whose halves are both completed. `memory`, which outlives
  /// the job: of the host.
  SubtractionJob(const jobs::Job& job, Pair pair, scheduler::PromisedMemory& memory,
                 const JobEnvironment& environment);

  /// Once. Errors: the table's.
  absl::Status Begin();

 private:
  absl::StatusOr<Output> OutputOf(Run* run) override;
  void OnEnded() override;

  const Pair pair_;
  scheduler::PromisedMemory& memory_;
};

}  // namespace isocenter::pipeline
