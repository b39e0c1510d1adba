// What is wrong with a command line, in our words: the parser's own would tell of its classes and
// types.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace isocenter::flags {

/// A line for each mistake, up to ten, without the program's name, after `root` has thrown `error`:
/// the flag or command that is meant where one is near, what is missing, what is legal.
std::string ExplainUsage(const CLI::App& root, const CLI::ParseError& error);

/// Of a command line with a word that is not UTF-8, before it is parsed: which flag's, and where;
/// empty: all are. Documents, headers and objects are made of these words.
std::string ExplainText(const CLI::App& root, int argc, const char* const* argv);

/// The same of a command line without the command that it needs.
std::string ExplainMissingCommand(const CLI::App& root);

/// What `--help` is asked of, where there is no such command; else empty.
std::string ExplainUnknownCommand(const CLI::App& root);

/// The one job that the command line names: the argument JOB of the command that was called, or of
/// one without it its flag that takes a JOB. Empty: none, or several. Of a line with mistakes, too.
std::string JobOnLine(const CLI::App& root);

/// "isocenter stream": the command that was called, for the head of a message.
std::string CalledCommand(const CLI::App& root);

}  // namespace isocenter::flags
