// A line of the log for a client that has not got through a TLS handshake.
#pragma once

#include "absl/strings/string_view.h"

namespace isocenter {

/// At most one line a second and endpoint: anybody who reaches the port can fail as often as they
/// like. The next line says how many had none since the last (`suppressed`). `address`: the
/// client's, or empty where it is not known.
void LogHandshake(absl::string_view endpoint, absl::string_view address, absl::string_view why);

}  // namespace isocenter
