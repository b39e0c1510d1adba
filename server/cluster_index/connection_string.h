// Where the database of the shared index is and how to get there, as libpq writes it: from a file,
// because it may have a password.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::cluster_index {

/// libpq's keywords and their values. May have a password: never part of a message.
using ConnectionParameters = std::vector<std::pair<std::string, std::string>>;

/// The first line of a file of at most 4 KiB that only its owner and group may read. Beyond this
/// machine TLS has to prove whom it reaches (sslmode=verify-full): what goes there are the names of
/// patients. Errors, with `field` and the file: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT.
absl::StatusOr<ConnectionParameters> ReadConnectionString(absl::string_view field,
                                                          const std::string& file);

/// The same of a text; `name` says in messages whose it is.
absl::StatusOr<ConnectionParameters> ParseConnectionString(absl::string_view name,
                                                           const std::string& text);

}  // namespace isocenter::cluster_index
