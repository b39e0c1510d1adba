// Records of the audit trail about jobs, whichever interface they were asked on.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/audit/event.h"
#include "server/jobs/job.h"
#include "server/jobs/job_table.h"

namespace isocenter::node {

/// What somebody did to a job, or wanted to. `service`: "grpc" or "http". `job` may have no more
/// than its id, or nothing.
audit::Event EventAbout(audit::Action action, const audit::Actor& actor, std::string service,
                        const jobs::Job& job, const absl::Status& outcome);

/// A job for EventAbout: one that is not in the table (any more) has its id alone.
jobs::JobSnapshot JobNamed(const jobs::JobTable& table, const std::string& id);

/// Adds to events that name a job alone whose it is, for rooms that do not know jobs. Thread-safe.
class SubjectsOfJobs : public audit::Recorder {
 public:
  /// Both must outlive this.
  SubjectsOfJobs(const jobs::JobTable& table, audit::Recorder& next) : table_(table), next_(next) {}
  void Record(audit::Event event) override;

 private:
  const jobs::JobTable& table_;
  audit::Recorder& next_;
};

}  // namespace isocenter::node
