// Declares a command's flags. CLI11 stays behind it: its header alone takes a compiler longer than
// any of our commands.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace isocenter::flags {

/// Does the work after parsing. OK: exit code 0; an error: its message on stderr and the exit code
/// that client/flags/exit_code.h says.
using Action = std::function<absl::Status()>;

/// The end of a command that Ctrl-C or SIGTERM has ended. CANCELLED.
absl::Status Interrupted(absl::string_view message);

/// The end of a command that could measure, and found what it measured not good enough.
/// FAILED_PRECONDITION.
absl::Status NotPassed(absl::string_view message);

/// One declared flag or positional argument, which lives as long as its program.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& Required();
  /// What `--help` calls the value, e.g. "FILE".
  Option& Type(const std::string& name);
  /// The heading in `--help` under which the flag stands.
  Option& Group(const std::string& heading);
  /// `--help` shows the value that the target has now.
  Option& ShowDefault();
  /// `--help` shows this as the default.
  Option& ShowDefault(const std::string& text);
  /// Takes its value from this environment variable where the flag is not given.
  Option& Environment(const std::string& variable);
  Option& OneOf(const std::vector<std::string>& legal);
  Option& OneOfNumbers(const std::vector<int>& legal);
  /// Closed range of finite numbers; a value outside of it is wrong usage. Flags of numbers without
  /// one take what their type can hold, infinity and not-a-number excluded.
  Option& Range(int least, int most);
  Option& Range(int64_t least, int64_t most);
  Option& Range(uint64_t least, uint64_t most);
  Option& Range(double least, double most);
  /// Of the range all but 0.
  Option& NotZero();
  /// A number of bytes, also with a unit: "16GiB", "8 GB", "512k".
  Option& Bytes();
  /// A time in seconds, also with a unit: "90", "1.5s", "20m", "2h". Closed range in seconds.
  Option& Seconds(double least, double most);
  /// A time in seconds with its unit, "30d", up to so many: where a number alone would be taken for
  /// days by one person and for seconds by another.
  Option& Age(double most);
  /// A name of a station or of what is named after one: 1 to 64 characters of [A-Za-z0-9_.-].
  Option& Identifier();
  /// Values in one argument, e.g. "1248x960".
  Option& Separator(char between);
  /// How many values there must be.
  Option& Count(int values);
  Option& Excludes(const Option& other);
  /// The value may be left out, which means this one; `--help` shows it.
  Option& OptionalValue(const std::string& meant);

 private:
  CLI::Option* option_;
};

/// One command of a program, or a group of its flags. A handle, which is copied.
class Command {
 public:
  Command(CLI::App* app, Action* action, std::string heading = "")
      : app_(app), action_(action), heading_(std::move(heading)) {}

  Command Subcommand(const std::string& name, const std::string& description);
  /// Exactly one of the flags that are added to it must be given.
  Command OneOfThese(const std::string& heading);

  /// The same command; flags that are added to what is returned stand under the heading in
  /// `--help`.
  Command Under(const std::string& heading) const { return {app_, action_, heading}; }

  /// The target must outlive the parsing. T: std::string, int, int64_t, uint32_t, uint64_t, double,
  /// std::optional of std::string, int or double, std::vector of std::string, int or double.
  template <class T>
  Option Add(const std::string& names, T& target, const std::string& help);
  Option AddSwitch(const std::string& names, bool& target, const std::string& help);
  /// For what is only touched when the flag is given. T: std::string, double, int32_t, uint32_t,
  /// uint64_t, std::vector of std::string.
  template <class T>
  Option AddSetter(const std::string& names, std::function<void(const T&)> set,
                   const std::string& help);

  /// For what is only touched when the switch is given.
  Option AddSwitchSetter(const std::string& names, std::function<void()> set,
                         const std::string& help);

  /// The heading in `--help` under which these commands stand.
  void Group(const std::string& heading, const std::vector<std::string>& subcommands);
  /// Text below the flags in `--help`.
  void Footer(const std::string& text);
  /// Without a subcommand the command does something, too.
  void SubcommandIsOptional();
  /// What the command does when it is the one that was called, and no subcommand of its own is.
  void Does(Action action);

 private:
  Option Placed(Option option) const;

  CLI::App* app_;
  Action* action_;
  std::string heading_;
};

/// A command line program.
class Program {
 public:
  Program(const std::string& name, const std::string& version, const std::string& description);
  ~Program();

  Command root() { return {app_.get(), &action_}; }

  /// `completion bash`: the script that completes command lines.
  void AddCompletion();

  /// Reads the command line. Empty: what was asked can be done. Else the exit code, and what is to
  /// be said has been said: the help (0), or what is wrong with the command line (2).
  std::optional<int> Parse(int argc, const char* const* argv);

  /// Parses, and does what was asked. The exit code (client/flags/exit_code.h); too little memory,
  /// in whatever thread, is 1.
  int Run(int argc, const char* const* argv);

 private:
  /// Says what is wrong with the command line. The exit code.
  int Refuse(const std::string& wrong);
  /// Says `status`, on standard output as well where a document was asked for. The exit code.
  int End(const absl::Status& status) const;

  const std::string name_;
  Action action_;
  std::unique_ptr<CLI::App> app_;
  bool wants_document_ = false;
};

}  // namespace isocenter::flags
