// Jobs as docs/web-api.md describes them. No patient's name or id.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/http/transport/answers.h"
#include "server/jobs/job.h"

namespace isocenter::http {

/// RFC 3339 with milliseconds; null for what is infinite.
Json TimeJson(absl::Time time);
/// Null when empty.
Json TextJson(absl::string_view text);

template <class T>
Json OptionalJson(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// A job's grid in the axes of its patient, as the objects have it: the page names sides by it.
Json GridJson(const jobs::Job& job);

/// What a second pass is against; null: none is.
Json SecondPassJson(const std::optional<jobs::SecondPassFacts>& second_pass);
/// What a refinement does and did; null for other jobs.
Json RefinementJson(const jobs::Job& job);
/// As in lists. `frames_per_second`: empty unless it receives.
Json JobJson(const jobs::Job& job, std::optional<double> frames_per_second);
/// What the page of one job has besides; appended to JobJson.
void AddDetails(const jobs::Job& job, Json& json);

Json PreviewJson(const jobs::Preview& preview);

}  // namespace isocenter::http
