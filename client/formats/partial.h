// What is being written, and what killed programs have left of it. Beside client/formats/file.h.
#pragma once

#include <filesystem>

namespace isocenter::formats {

/// What a file or directory is called that this process has not completed: ".NAME.PROCESS.part", a
/// hidden name beside it.
std::filesystem::path PartialName(const std::filesystem::path& path);

/// Removes what killed processes have left of this file or directory: of no process of this
/// machine, and not written to for ten minutes, for another machine may be writing it.
void RemoveAbandoned(const std::filesystem::path& path);

}  // namespace isocenter::formats
