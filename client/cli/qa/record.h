// What the server keeps of a test, and the baseline of its room that it is held against.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "isocenter/v1/quality.pb.h"
#include "kernels/quality/conditions.h"

namespace isocenter::cli {

struct RecordRequest {
  /// Empty room and protocol: the job's.
  std::string station, protocol, job;
  bool as_baseline = false;
  std::string replaces;  // as baseline, in place of this one; empty: of none
};

struct Recorded {
  std::vector<quality::Verdict> verdicts;  // the server's
  std::vector<std::pair<std::string, std::string>>
      not_judged;                  // names, and why there is no verdict
  quality::Conditions conditions;  // with what the server knows of the job
};

/// Has the server keep the figures; says so, and what is told of the room, to `progress`. Errors:
/// those of the service.
absl::StatusOr<Recorded> Record(const client::ServiceChannel& channel, const RecordRequest& request,
                                const quality::Conditions& conditions,
                                const std::vector<quality::Measure>& measures, std::FILE* progress);

/// What a result that became the baseline was in place of, as a sentence's end; empty: of none.
std::string ReplacedText(const v1::QualityResult& result);

}  // namespace isocenter::cli
