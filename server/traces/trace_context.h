// Which distributed trace a job belongs to, as the W3C's Trace Context (Recommendation, 2021) says
// it.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::traces {

struct TraceContext {
  std::string trace_id;  // 32 hexadecimal digits, lower case, not all 0
  std::string span_id;   // 16 of them: who caused what is traced
  bool sampled = false;
};

/// Reads a `traceparent` of version 00, or of a later one, of which the parts of version 00 are
/// taken. Nothing for anything else: a broken one begins a trace anew, as the Recommendation has
/// it.
std::optional<TraceContext> ParseTraceParent(absl::string_view text);

/// "00-TRACE-SPAN-01", 55 characters.
std::string TraceParent(const TraceContext& context);

/// The id of a job's own span: the same on every node and after every restart.
std::string JobSpanId(absl::string_view job_id);

/// The context of a new job: what its console said, or, where that is none, a trace of the job's
/// own, which is sampled with probability `ratio`. Of one job it is the same wherever it is asked.
std::string TraceParentOf(absl::string_view job_id, absl::string_view told, double ratio);

}  // namespace isocenter::traces
