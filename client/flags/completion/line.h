// What may stand where on a program's command line: what the completions of all shells are made of.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace isocenter::flags {

/// What is offered for a value. Of neither words nor a kind: names of files.
struct Offer {
  std::vector<std::string> words;
  std::string kind;         // of names that `PROGRAM __names KIND` prints; empty: none
  bool takes_list = false;  // of words, with commas between them
  bool or_file = false;     // or a file's name instead of a word

  bool empty() const { return words.empty() && kind.empty(); }
};

struct FlagOnLine {
  std::string name;  // without its dashes
  std::string help;
  bool takes_value = false;
  Offer value;
};

struct CommandOnLine {
  std::string path;  // with the program and the commands above it: "isocenter jobs"
  std::string help;
  std::vector<FlagOnLine> flags;
  bool takes_argument = false;
  Offer argument;                     // in the place of any of its arguments
  std::vector<std::string> commands;  // below it, without its path
};

/// The program itself first, each command before those below it, at last its `help`.
std::vector<CommandOnLine> CommandsOf(const CLI::App& root);

}  // namespace isocenter::flags
