// An error as a JSON document, for programs that asked for one.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::flags {

/// Whether the command line asks for its document on standard output: --json without FILE or with
/// "-". Of a line that the parser refuses, too.
bool WantsDocument(int argc, const char* const* argv);

/// {"error": {"code", "message", "hint", "exit_code"}}, in one line for each. `code`: the name of
/// the status, as in the web interface; `job_id` where the status knows its job (OfJob). `hint`:
/// what is legal or near, where the message says so, else `otherwise`.
std::string ErrorDocument(const absl::Status& status, absl::string_view otherwise);

}  // namespace isocenter::flags
