// Warnings of a command that has no job.
#pragma once

#include <span>
#include <string>

namespace isocenter::cli {

/// What warnings have in common that differ in their numbers: the text without these.
std::string ShapeOf(const std::string& text);

/// A line of each on standard error that this process has not printed yet; of those that differ in
/// their numbers the first two, and how many more there are.
void PrintWarnings(std::span<const std::string> warnings);

}  // namespace isocenter::cli
