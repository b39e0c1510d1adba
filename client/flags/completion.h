// Completion of a command line by the shell, made of the commands and flags that are declared.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace isocenter::flags {

/// A script for bash (`source <(isocenter completion bash)`): commands, flags, values of flags that
/// have a list, with commas and behind "=" too, names that `PROGRAM __names KIND` prints of jobs,
/// protocols, stations, sets and destinations, else names of files.
std::string BashCompletion(const CLI::App& root);

/// What zsh needs before that script, which it then runs as bash does.
inline constexpr char kZshPrelude[] =
    "autoload -Uz compinit bashcompinit\n"
    "(( $+functions[compdef] )) || compinit\n"
    "bashcompinit\n";

}  // namespace isocenter::flags
