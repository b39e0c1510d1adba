// The distributed trace that an acquisition belongs to.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::client {

/// Whether a text may be sent as the W3C's traceparent. INVALID_ARGUMENT with the text and what is
/// legal.
absl::Status CheckTraceParent(absl::string_view text);

}  // namespace isocenter::client
