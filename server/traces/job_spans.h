// What happened to a job, as spans of a trace.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/jobs/job.h"
#include "server/traces/span.h"

namespace isocenter::traces {

/// When a job came into a state.
struct StateChange {
  jobs::JobState to;
  absl::Time time;
};

/// The spans of a job that has ended: one of the whole, and one of each state that it was in
/// ("receive", "reconstruct", "refine", "export"), from `changes`, which are in order. A refinement
/// or subtraction hangs below the job whose frames or volumes it uses. Empty where the job's trace
/// is not sampled.
std::vector<Span> SpansOf(const jobs::Job& job, const std::vector<StateChange>& changes);

/// Below "reconstruct" (or "refine"): from when to when each stage of each device was at work, and
/// for how many seconds of that, of the trace that is kept with the job (kernels/recon/trace.h).
/// Empty where it does not say when it began, as those of earlier versions do not, or is none.
std::vector<Span> DeviceSpansOf(const jobs::Job& job, const std::vector<Span>& spans,
                                absl::string_view kept_trace);

/// Instances of a job that were sent to a destination: from the end of the job, with the time that
/// they waited in the queue. Empty where the job's trace is not sampled.
std::vector<Span> SendSpanOf(const jobs::Job& job, const std::string& destination,
                             int64_t instances, int64_t failed, absl::Time end);

}  // namespace isocenter::traces
