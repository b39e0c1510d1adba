// Where a command is told to write: checked before its work, which would be lost after it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::formats {

/// A file or directory that is to be written.
struct Destination {
  std::string flag;  // that names it
  std::filesystem::path path;
  std::vector<std::string> endings = {};  // that its name may have; none: any
  uint64_t bytes = 0;                     // that it will take, as far as is known
  bool replaces = true;                   // a file that is there; else --overwrite is asked for
  bool is_json = false;                   // then it replaces nothing that is not
  /// Files that are read, and that it must not replace.
  std::vector<std::filesystem::path> inputs = {};
};

/// Whether OutputFile can write such a file, as far as can be told without writing it; of a .mhd
/// also the .raw beside it. Errors, naming the flag, the path and what is legal: wrong usage (the
/// ending, which no file can have that this command writes), INVALID_ARGUMENT (a directory; no
/// regular file; an input), NOT_FOUND (no such directory), ALREADY_EXISTS, PERMISSION_DENIED,
/// RESOURCE_EXHAUSTED (what is needed, what is free).
absl::Status CheckFileDestination(const Destination& destination);

/// Whether a name has an extension with a letter in it, as those of files do, and is no directory
/// that is there. Names of directories end in numbers, as UIDs and dates do, or have no extension:
/// another one is a mistake for a file that is not written.
bool LooksLikeAFile(const std::filesystem::path& path);

/// The same of a directory, which with those above it need not be there yet.
absl::Status CheckDirectoryDestination(const Destination& destination);

}  // namespace isocenter::formats
