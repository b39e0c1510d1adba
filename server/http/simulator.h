// What the web interface asks of whoever can simulate a scan.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/jobs/job_table.h"

namespace isocenter::http {

/// Thread-safe.
class Simulator {
 public:
  using Done = std::function<void(absl::StatusOr<jobs::JobSnapshot>)>;

  virtual ~Simulator() = default;
  /// Begins to send a small simulated scan of a head, as a console would. Calls `done`, from any
  /// thread, when its job is accepted or refused. `by`: who asked. Errors: FAILED_PRECONDITION (one
  /// is under way: names it), those of pipeline::Engine::Accept.
  virtual void Begin(const std::string& by, Done done) = 0;
};

}  // namespace isocenter::http
