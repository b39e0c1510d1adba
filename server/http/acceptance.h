// Waiting for a job that another thread accepts or refuses.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/http/places.h"
#include "server/jobs/job_table.h"

namespace isocenter::http {

using Accepted = std::function<void(absl::StatusOr<jobs::JobSnapshot>)>;

/// Calls `begin` with what it is to tell, once, from any thread, and waits for that at most
/// `longest`. Each that waits holds a thread of the server, and a place until it is told. Errors:
/// what is told; UNAVAILABLE (no place; not told in time: `late` says what that means).
absl::StatusOr<jobs::JobSnapshot> AwaitAcceptance(Places& places, absl::Duration longest,
                                                  const std::string& late,
                                                  const std::function<void(Accepted)>& begin);

}  // namespace isocenter::http
