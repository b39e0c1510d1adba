// What other programs, and users who are new, call a flag or a command.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace isocenter::flags {

/// "; did you mean --server HOST:PORT?" of --port, where `names`, all flags or all commands, have
/// what is meant; else nothing.
std::string SynonymMeant(absl::string_view word, const std::vector<std::string>& names);
/// The same of a word with a typing mistake.
std::string NearSynonymMeant(absl::string_view word, const std::vector<std::string>& names);

}  // namespace isocenter::flags
