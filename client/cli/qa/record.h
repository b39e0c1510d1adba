// What the server keeps of a test, and the baseline of its room that it is held against.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "client/cli/qa/conditions.h"
#include "kernels/quality/constancy.h"

namespace isocenter::cli {

struct RecordRequest {
  /// Empty room and protocol: the job's.
  std::string station, protocol, job, phantom;
  bool as_baseline = false;
};

/// Has the server keep the figures; says so, and what is told of the room, to `progress`. The
/// verdicts are the server's, but for figures that other conditions make incomparable. Errors:
/// those of the service; those of CheckIsATest; FAILED_PRECONDITION for voxels, voltage or a filter
/// that the baseline does not have, since the server would take their verdicts for the room's.
absl::StatusOr<std::vector<quality::Verdict>> Record(const client::ServiceChannel& channel,
                                                     const RecordRequest& request,
                                                     const Conditions& conditions,
                                                     const std::vector<quality::Measure>& measures,
                                                     std::FILE* progress);

}  // namespace isocenter::cli
