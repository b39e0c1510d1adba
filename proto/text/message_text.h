// Messages in protobuf's text format, as people write and edit them: the configuration, headers of
// acquisitions, descriptions of simulated physics.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/text/text_mistakes.h"

namespace google::protobuf {
class Message;
}

namespace isocenter::text {

/// Reads a whole message, with or without a byte order mark. `file` is how errors call the text,
/// `page` where the fields are documented. INVALID_ARGUMENT: a line for each mistake,
/// "FILE:LINE:COLUMN: ...", at most 20 and how many more, or the first text that is not UTF-8; the
/// message is then of no use.
absl::Status ParseMessage(absl::string_view text, absl::string_view file, absl::string_view page,
                          google::protobuf::Message& message, const RangeOf& range_of = nullptr);

}  // namespace isocenter::text
