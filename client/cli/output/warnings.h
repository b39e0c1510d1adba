// Warnings of a command that has no job.
#pragma once

#include <span>
#include <string>

namespace isocenter::cli {

/// A line of each on standard error.
void PrintWarnings(std::span<const std::string> warnings);

}  // namespace isocenter::cli
