// When each room scans: a hospital's day, say, as a list.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::bench {

/// Seconds from the start, ascending, of room N in [N - 1].
using Arrivals = std::vector<std::vector<double>>;

/// A line for each scan, in any order: SECONDS ROOM, seconds from 0 to 1e7, rooms from 1 to
/// `rooms`. Errors: INVALID_ARGUMENT (with the line).
absl::StatusOr<Arrivals> ParseArrivals(absl::string_view text, int rooms);

/// The same of a file. Errors: also NOT_FOUND.
absl::StatusOr<Arrivals> ReadArrivals(const std::string& path, int rooms);

}  // namespace isocenter::bench
