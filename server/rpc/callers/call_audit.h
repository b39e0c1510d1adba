// Records of the audit trail about calls.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "server/audit/event.h"
#include "server/jobs/job_table.h"

namespace isocenter::rpc {

/// Address of a call's client, and the subject of its certificate where it has shown one.
audit::Actor ActorOf(const grpc::ServerContextBase& call);

/// Records what clients do to jobs. Thread-safe; cheap where nothing is recorded.
class CallAudit {
 public:
  /// `recorder`: may be null; it and the table must outlive this.
  CallAudit(audit::Recorder* recorder, const jobs::JobTable& table)
      : recorder_(recorder), table_(table) {}

  /// Of a call about an existing job.
  void Record(audit::Action action, const audit::Actor& actor, const std::string& job_id,
              const absl::Status& outcome) const;
  /// Of a job that need not be in the table (any more).
  void Record(audit::Action action, const audit::Actor& actor, const jobs::Job& job,
              const absl::Status& outcome) const;

 private:
  audit::Recorder* const recorder_;
  const jobs::JobTable& table_;
};

}  // namespace isocenter::rpc
