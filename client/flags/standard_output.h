// Standard output as what it is for scripts: a result.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace isocenter::flags {

/// Before a program opens anything: of standard input, output and error what its caller has closed
/// is taken by /dev/null, which nothing can be written to. Else the next file that is opened would
/// get what is printed.
void HoldStandardDescriptors();

/// Whether all that was printed has gone where it should: a full disk or a closed pipe there must
/// not look like success. `failed`: what was printed by another way has not. Errors:
/// RESOURCE_EXHAUSTED.
absl::Status FlushStandardOutput(bool failed = false);

/// Prints the document of a command, which standard output then has for itself: what goes wrong
/// later adds none (flags/error_document.h). Errors: as above.
absl::Status PrintDocument(const std::string& document);
bool HasPrintedDocument();

}  // namespace isocenter::flags
