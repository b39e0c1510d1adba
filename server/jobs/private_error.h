// Errors whose messages repeat what may identify a patient.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace isocenter::jobs {

/// Marks an error whose message repeats a field that may identify a patient. Such messages go to
/// the client that sent the field, and nowhere else.
absl::Status MarkPrivate(absl::Status status);
bool IsPrivate(const absl::Status& status);

/// What others than the client may be shown of an error: the code alone when it was marked.
absl::Status Publishable(const absl::Status& status);
/// The same as text, for the log.
std::string Loggable(const absl::Status& status);

}  // namespace isocenter::jobs
