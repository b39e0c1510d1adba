// Parameters and bodies of requests, checked.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/transport/answers.h"
#include "server/http/transport/http.h"
#include "server/jobs/job_table.h"

namespace isocenter::http {

/// Whether all parameters of a request are of those that the path's pattern has
/// ("/api/v1/jobs/{}"): one that is not known, e.g. "limit" for "page_size", would change nothing
/// without a word. Errors: INVALID_ARGUMENT, naming those that are legal.
absl::Status CheckParameterNames(const std::string& pattern, const Request& request);

/// An integer, `otherwise` where it is not given. Errors: INVALID_ARGUMENT with the legal range.
absl::StatusOr<int> IntegerParameter(const Request& request, absl::string_view name, int low,
                                     int high, int otherwise);
/// An integer that is a part of the path. Errors: INVALID_ARGUMENT with the legal range.
absl::StatusOr<int> IntegerOf(absl::string_view name, absl::string_view text, int low, int high);

/// The body as a JSON object; an empty one where there is no body. Errors: INVALID_ARGUMENT, also
/// of a key that is not `legal`: "agian" would change nothing without a word.
absl::StatusOr<Json> BodyOf(const Request& request, const std::vector<std::string>& legal);
/// A text of the body; empty where it is not given. Errors: INVALID_ARGUMENT (not a text).
absl::StatusOr<std::string> TextOf(const Json& body, const std::string& key);

/// A number of the body; 0 where it is not given. Errors: INVALID_ARGUMENT (not a number).
absl::StatusOr<double> NumberOf(const Json& body, const std::string& key);

/// A boolean of the body; false where it is not given. Errors: INVALID_ARGUMENT (not a boolean).
absl::StatusOr<bool> BooleanOf(const Json& body, const std::string& key);

/// Which jobs a listing shows. Errors: INVALID_ARGUMENT (a state).
absl::StatusOr<jobs::JobFilter> FilterOf(const Request& request);

/// What a listing searches for, in lower case; empty: nothing. Errors: INVALID_ARGUMENT (too long).
absl::StatusOr<std::string> SearchedText(const Request& request);
/// Whether the job's id, room, protocol or accession number contains a text in lower case, in any
/// case.
bool HasText(const jobs::Job& job, const std::string& text);

/// Where the next page begins, bound to the filter of the request.
std::string EncodePageToken(const jobs::JobCursor& cursor, const Request& request);
/// Errors: INVALID_ARGUMENT.
absl::StatusOr<jobs::JobCursor> DecodePageToken(const Request& request);

}  // namespace isocenter::http
