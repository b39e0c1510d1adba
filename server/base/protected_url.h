// Web addresses to which secrets may be sent.
#pragma once

#include "absl/strings/string_view.h"

namespace isocenter {

/// Whether it is http or https, with a host, and without a user name, a fragment, blanks and what
/// is not ASCII.
bool IsWebUrl(absl::string_view url);

/// Whether nobody can read or change on the way what goes to this address: https, or http to this
/// machine; and IsWebUrl.
bool IsProtectedUrl(absl::string_view url);

/// "host" or "host:port" of such an address.
absl::string_view HostOfUrl(absl::string_view url);

}  // namespace isocenter
