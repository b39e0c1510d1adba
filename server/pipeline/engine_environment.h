// What the engine works with, and what its parts share.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/steady_clock.h"
#include "kernels/ops/registry.h"
#include "server/jobs/calibrations.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/jobs/worklist.h"
#include "server/pipeline/active_jobs.h"
#include "server/pipeline/request_decoders.h"
#include "server/pipeline/runs/loaded_calibrations.h"
#include "server/pipeline/runs/run_maker.h"
#include "server/scheduler/promised_disk.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

class EarlyRefinements;  // early/early_refinements.h

/// What the engine works with; all of it outlives the engine.
struct EngineEnvironment {
  const ops::Registry& registry;
  scheduler::Scheduler& scheduler;
  jobs::JobTable& table;
  jobs::FrameSpool& spool;
  jobs::ResultStore& results;
  jobs::JobObserver& observer;
  jobs::Worklist* worklist = nullptr;              // null: none
  jobs::CalibrationStore* calibrations = nullptr;  // null: none are kept
};

/// Makes a device fail, for tests of what happens then.
struct DeviceFault {
  std::string slot;  // "cpu0"
  int chunks = 0;    // that it computes before
};

struct EngineOptions {
  absl::Duration reconnect_limit = absl::Minutes(2);
  /// There are other nodes: a console that does not come back may have gone on at one of them.
  bool has_other_nodes = false;
  /// The node from which this one took a job over, where it lives and has the job again: what is
  /// left here is nobody's loss. Null: none is taken over.
  std::function<std::optional<std::string>(const std::string& job_id)> handed_back_to;
  std::optional<DeviceFault> fault;
  /// Called once, when the last healthy slot is gone; from any thread.
  std::function<void()> no_device_left;
  RequestDecoders decoders;
  /// From the acceptance of an acquisition; see OrderLookup.
  absl::Duration worklist_timeout = absl::Seconds(10);
  /// The observer tells the information system of performed procedure steps, to which results
  /// therefore refer.
  bool reports_procedure_steps = false;
  /// A result for which the archive's disk had no room is tried again so often. Whoever makes room
  /// is mostly another program, or a person: nobody tells us.
  absl::Duration store_again = absl::Seconds(2);
  /// Job::trace_parent of a new acquisition, from its id and what its console sent; null: traces
  /// are off.
  std::function<std::string(const std::string& job_id, const std::string& told)> trace_parent_of;
  /// Batch acquisitions that one caller may have at once, where callers are known.
  int batch_jobs_per_caller = std::numeric_limits<int>::max();
  /// What early passes came to: "used" by the refinement's job, or "given_up"; and over how many
  /// first frames all was done. Null: nobody counts.
  std::function<void(absl::string_view outcome, int frames)> early_refinement_ended;
  /// Called from any thread, also with locks held.
  std::function<absl::Time()> clock = absl::Now;
  /// What only counts seconds goes by it.
  std::function<absl::Time()> steady_clock = SteadyNow;
};

/// Outlives the parts, as does what it refers to.
struct EngineParts : EngineEnvironment {
  const EngineOptions& options;
  JobKeeper& keeper;
  RunMaker& runs;
  LoadedCalibrations& calibrations_in_memory;
  ActiveJobs& active;
  EarlyRefinements& early;
  scheduler::PromisedDisk& disk;
  /// Looks for a slot for every job that has none, soon. From any thread.
  std::function<void()> seek_places;

  absl::Time Now() const { return options.clock(); }
  JobEnvironment ForJobs(scheduler::LaneExecutor& exporter) const {
    return {table,
            results,
            observer,
            keeper,
            disk,
            exporter,
            options.clock,
            options.steady_clock,
            options.store_again};
  }
};

}  // namespace isocenter::pipeline
