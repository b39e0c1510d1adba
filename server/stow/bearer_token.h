// The token that opens a destination. Source: RFC 6750, section 2.1.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::stow {

/// The first line of the file. `field` names it in messages, which do not have the token. Errors:
/// those of ReadRegularFile (16 KiB) and crypto::CheckSecrecy, INVALID_ARGUMENT (no token: legal
/// are letters, digits and -._~+/=).
absl::StatusOr<std::string> ReadBearerToken(absl::string_view field, const std::string& file);

}  // namespace isocenter::stow
