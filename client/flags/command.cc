#include "client/flags/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/flags/choices.h"
#include "client/flags/completion/bash.h"
#include "client/flags/completion/fish.h"
#include "client/flags/completion/line.h"
#include "client/flags/error_document.h"
#include "client/flags/exit_code.h"
#include "client/flags/help.h"
#include "client/flags/standard_output.h"
#include "client/flags/usage.h"
#include "client/flags/wrong_usage.h"
#include "kernels/base/identifier.h"

namespace isocenter::flags {
namespace {

/// The number that a flag's target holds, or void.
template <class T>
struct NumberOf {
  using Type = std::conditional_t<std::is_arithmetic_v<T>, T, void>;
};
template <class T>
struct NumberOf<std::optional<T>> : NumberOf<T> {};
template <class T>
struct NumberOf<std::vector<T>> : NumberOf<T> {};

template <class T>
bool Parse(const std::string& text, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return absl::SimpleAtod(text, &value);
  } else {
    return absl::SimpleAtoi(text, &value);
  }
}

template <class T>
std::string RangeText(T least, T most) {
  return absl::StrCat(least, " to ", most);
}

/// With all digits of a bound: 1.999999 is not 2.
std::string RangeText(double least, double most) {
  return absl::StrFormat("%.15g to %.15g", least, most);
}

/// The number in a text that is none for a decimal comma ("0,5"), or for a unit behind it
/// ("360deg"); else nothing.
std::string NumberIn(absl::string_view text) {
  const size_t end = text.find_first_not_of("0123456789+-.");
  if (end == absl::string_view::npos || end == 0) return "";
  const absl::string_view rest = text.substr(end);
  const auto all = [](absl::string_view part, auto is) {
    return std::ranges::all_of(part, [is](char c) { return is(static_cast<unsigned char>(c)); });
  };
  if (rest.size() > 1 && rest[0] == ',' && all(rest.substr(1), absl::ascii_isdigit)) {
    return absl::StrCat(text.substr(0, end), ".", rest.substr(1));
  }
  const absl::string_view unit = absl::StripLeadingAsciiWhitespace(rest);
  const bool is_unit = !unit.empty() && unit.size() <= 4 && all(unit, absl::ascii_isalpha);
  return is_unit ? std::string(text.substr(0, end)) : "";
}

/// The library would take an empty text for 0, "010" for 8, and not-a-number for any number. As a
/// transformation, the last one that is added is asked first.
template <class T>
CLI::Validator Between(T least, T most, const std::string& shown_in_help) {
  const auto check = [least, most](std::string& text) -> std::string {
    T value{};
    if (Parse(text, value) && value >= least && value <= most) {
      if constexpr (std::is_integral_v<T>) text = absl::StrCat(value);
      return "";
    }
    const bool any = std::is_floating_point_v<T> && least == std::numeric_limits<T>::lowest();
    std::string meant = NumberIn(text);
    const bool legal = Parse(meant, value) && value >= least && value <= most;
    meant = legal ? absl::StrCat("; did you mean ", meant, "?") : "";
    return absl::StrCat("'", text, "'; legal is a ",
                        std::is_floating_point_v<T> ? "number" : "whole number",
                        any ? "" : absl::StrCat(" from ", RangeText(least, most)), meant);
  };
  return CLI::Validator(check, shown_in_help);
}

/// What the type can hold, for flags without a range of their own.
template <class T>
CLI::Option* OfItsType(CLI::Option* option) {
  using Number = typename NumberOf<T>::Type;
  if constexpr (!std::is_void_v<Number>) {
    using Limits = std::numeric_limits<Number>;
    option->transform(Between<Number>(Limits::lowest(), Limits::max(), ""));
  }
  return option;
}

/// A text that is another flag of the command: its own value is missing.
CLI::Validator NoFlagOf(const CLI::App* app) {
  return CLI::Validator(
      [app](std::string& text) -> std::string {
        const bool is_flag = absl::StartsWith(text, "--") && text.size() > 2 &&
                             app->get_option_no_throw(text) != nullptr;
        return is_flag ? absl::StrCat("'", text, "', which is a flag: the value is missing") : "";
      },
      "");
}

constexpr char kOutOfMemory[] =
    "out of memory: the work needs more than this process may have; choose a smaller size or "
    "volume";

/// What is thrown where nobody can catch it, in a thread of the libraries or of ours.
[[noreturn]] void EndUncaught() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s\n", kOutOfMemory);
    std::_Exit(1);
  } catch (...) {
  }
  std::abort();
}

/// Bytes of "16GiB"; none where it is no number, has no such unit, or is beyond 64 bits.
std::optional<uint64_t> BytesOf(absl::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  uint64_t whole = 0;
  std::string unit = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text.substr(digits)));
  if (unit.empty() || unit == "b") {
    if (!absl::SimpleAtoi(text.substr(0, digits), &whole)) return std::nullopt;
    return whole;
  }
  if (!absl::SimpleAtod(text.substr(0, digits), &number)) return std::nullopt;
  const size_t power = std::string("kmgtpe").find(unit[0]);
  const std::string rest = unit.substr(1);
  if (power == std::string::npos || (rest != "" && rest != "b" && rest != "i" && rest != "ib")) {
    return std::nullopt;
  }
  const bool binary = !rest.empty() && rest[0] == 'i';
  const double bytes = number * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
  if (!(bytes < 0x1p64)) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

/// Seconds of "20m"; none where it is no number or has no such unit.
std::optional<double> SecondsOf(absl::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789.+-eE"), text.size());
  double number = 0;
  if (!absl::SimpleAtod(text.substr(0, digits), &number)) return std::nullopt;
  const absl::string_view unit = absl::StripAsciiWhitespace(text.substr(digits));
  if (unit.empty() || unit == "s") return number;
  if (unit == "ms") return number / 1000;
  if (unit == "m" || unit == "min") return number * 60;
  if (unit == "h") return number * 3600;
  if (unit == "d") return number * 86400;
  return std::nullopt;
}

/// Runs the action. Memory that there is not, and sizes beyond all memory, are errors as others.
absl::Status Act(const Action& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(kOutOfMemory);
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError(kOutOfMemory);
  }
}

}  // namespace

Option& Option::Required() {
  option_->required();
  return *this;
}

Option& Option::Type(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::Group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Option& Option::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Option& Option::ShowDefault(const std::string& text) {
  option_->default_str(text);
  return *this;
}

Option& Option::Environment(const std::string& variable) {
  option_->envname(variable);
  return *this;
}

Option& Option::OneOf(const std::vector<std::string>& legal) {
  option_->check(ChoiceOf(legal));
  return *this;
}

Option& Option::OneOfNumbers(const std::vector<int>& legal) {
  std::vector<std::string> names;
  for (const int number : legal) names.push_back(absl::StrCat(number));
  return OneOf(names);
}

Option& Option::Bytes() {
  option_->transform(CLI::Validator(
      [](std::string& text) -> std::string {
        const std::optional<uint64_t> bytes = BytesOf(text);
        if (!bytes) {
          return absl::StrCat("'", text,
                              "'; legal is a number of bytes, or of a unit: k, M, G, T (powers of "
                              "1000), KiB, MiB, GiB, TiB (of 1024), e.g. 16GiB");
        }
        text = absl::StrCat(*bytes);
        return "";
      },
      "BYTES"));
  return *this;
}

Option& Option::Seconds(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    const std::optional<double> seconds = SecondsOf(text);
    if (!seconds || !(*seconds >= least && *seconds <= most)) {
      return absl::StrCat("'", text, "'; legal is a time of ", RangeText(least, most),
                          " seconds: a number of seconds, or of a unit: ms, s, m, h, d");
    }
    text = absl::StrCat(*seconds);
    return "";
  };
  option_->transform(CLI::Validator(check, RangeText(least, most)))->type_name("SECONDS");
  return *this;
}

Option& Option::Age(double most) {
  const auto check = [most](std::string& text) -> std::string {
    const std::optional<double> seconds = SecondsOf(text);
    if (!seconds || !(*seconds >= 0 && *seconds <= most) || !absl::ascii_isalpha(text.back())) {
      return absl::StrCat("'", text, "'; legal is a time of up to ", most,
                          " seconds with its unit, s, m, h or d: 30d, 12h");
    }
    text = absl::StrCat(*seconds);
    return "";
  };
  option_->transform(CLI::Validator(check, ""))->type_name("AGE");
  return *this;
}

Option& Option::Identifier() {
  option_->check(CLI::Validator(
      [](std::string& text) -> std::string {
        if (IsIdentifier(text)) return "";
        return absl::StrCat("'", text, "'; legal are 1 to 64 characters of [A-Za-z0-9_.-]");
      },
      ""));
  return *this;
}

Option& Option::Range(int least, int most) {
  option_->transform(Between(least, most, RangeText(least, most)));
  return *this;
}

Option& Option::Range(int64_t least, int64_t most) {
  option_->transform(Between(least, most, RangeText(least, most)));
  return *this;
}

Option& Option::Range(uint64_t least, uint64_t most) {
  option_->transform(Between(least, most, RangeText(least, most)));
  return *this;
}

Option& Option::Range(double least, double most) {
  option_->transform(Between(least, most, RangeText(least, most)));
  return *this;
}

Option& Option::NotZero() {
  option_->check(CLI::Validator(
      [](std::string& text) -> std::string {
        double value = 0;
        if (!Parse(text, value) || value != 0) return "";
        return absl::StrCat("'", text, "'; legal is any number of the range but 0");
      },
      ""));
  return *this;
}

Option& Option::Separator(char between) {
  option_->delimiter(between);
  return *this;
}

Option& Option::Count(int values) {
  option_->expected(values);
  return *this;
}

Option& Option::Excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::OptionalValue(const std::string& meant) {
  option_->expected(0, 1)->default_str(meant);
  return *this;
}

Command Command::Subcommand(const std::string& name, const std::string& description) {
  return {app_->add_subcommand(name, description), action_};
}

Command Command::OneOfThese(const std::string& heading) {
  CLI::Option_group* group = app_->add_option_group(heading, "exactly one of these");
  group->require_option(1);
  return {group, action_};
}

Option Command::Placed(Option option) const {
  return heading_.empty() ? option : option.Group(heading_);
}

template <class T>
Option Command::Add(const std::string& names, T& target, const std::string& help) {
  CLI::Option* const option = OfItsType<T>(app_->add_option(names, target, help));
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>) {
    option->check(NoFlagOf(app_));
  }
  return Placed(Option(option));
}

template Option Command::Add(const std::string&, std::string&, const std::string&);
template Option Command::Add(const std::string&, std::filesystem::path&, const std::string&);
template Option Command::Add(const std::string&, int&, const std::string&);
template Option Command::Add(const std::string&, int64_t&, const std::string&);
template Option Command::Add(const std::string&, uint32_t&, const std::string&);
template Option Command::Add(const std::string&, uint64_t&, const std::string&);
template Option Command::Add(const std::string&, double&, const std::string&);
template Option Command::Add(const std::string&, std::optional<std::string>&, const std::string&);
template Option Command::Add(const std::string&, std::optional<int>&, const std::string&);
template Option Command::Add(const std::string&, std::optional<double>&, const std::string&);
template Option Command::Add(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::Add(const std::string&, std::vector<int>&, const std::string&);
template Option Command::Add(const std::string&, std::vector<double>&, const std::string&);

Option Command::AddSwitch(const std::string& names, bool& target, const std::string& help) {
  return Placed(Option(app_->add_flag(names, target, help)->disable_flag_override()));
}

template <class T>
Option Command::AddSetter(const std::string& names, std::function<void(const T&)> set,
                          const std::string& help) {
  return Placed(Option(OfItsType<T>(app_->add_option_function<T>(names, std::move(set), help))));
}

template Option Command::AddSetter(const std::string&, std::function<void(const std::string&)>,
                                   const std::string&);
template Option Command::AddSetter(const std::string&, std::function<void(const double&)>,
                                   const std::string&);
template Option Command::AddSetter(const std::string&, std::function<void(const int32_t&)>,
                                   const std::string&);
template Option Command::AddSetter(const std::string&, std::function<void(const uint32_t&)>,
                                   const std::string&);
template Option Command::AddSetter(const std::string&, std::function<void(const uint64_t&)>,
                                   const std::string&);
template Option Command::AddSetter(const std::string&,
                                   std::function<void(const std::vector<std::string>&)>,
                                   const std::string&);

Option Command::AddSwitchSetter(const std::string& names, std::function<void()> set,
                                const std::string& help) {
  return Placed(
      Option(app_->add_flag_callback(names, std::move(set), help)->disable_flag_override()));
}

void Command::Group(const std::string& heading, const std::vector<std::string>& subcommands) {
  for (const std::string& name : subcommands) app_->get_subcommand(name)->group(heading);
}

void Command::Footer(const std::string& text) { app_->footer(text); }

void Command::SubcommandIsOptional() { app_->require_subcommand(0, 1); }

void Command::Does(Action action) {
  app_->callback([app = app_, wanted = action_, action = std::move(action)] {
    if (app->get_subcommands().empty()) *wanted = action;
  });
}

Program::Program(const std::string& name, const std::string& version,
                 const std::string& description)
    : name_(name), app_(std::make_unique<CLI::App>(description)) {
  HoldStandardDescriptors();
  app_->name(name);
  app_->formatter(HelpFormat());
  app_->set_version_flag("--version", name + " " + version);
  app_->require_subcommand(1);
}

Program::~Program() = default;

void Program::AddCompletion() {
  Command completion = root().Subcommand("completion", "Print a script that completes commands");
  completion.Footer(absl::StrCat("Examples:\n  source <(", name_, " completion bash)\n  source <(",
                                 name_, " completion zsh)\n  ", name_,
                                 " completion fish | source"));
  auto shell = std::make_shared<std::string>();
  completion.Add("shell", *shell, "that is to complete").Required().OneOf({"bash", "zsh", "fish"});
  completion.Does([app = app_.get(), shell] {
    const std::vector<CommandOnLine> commands = CommandsOf(*app);
    const std::string script = *shell == "fish"  ? FishCompletion(commands)
                               : *shell == "zsh" ? ZshCompletion(commands)
                                                 : BashCompletion(commands);
    std::fputs(script.c_str(), stdout);
    return absl::OkStatus();
  });
}

std::optional<int> Program::Parse(int argc, const char* const* argv) {
  std::string wrong = ExplainText(*app_, argc, argv);
  if (!wrong.empty()) return Refuse(wrong);
  try {
    app_->parse(argc, argv);
    if (action_ || app_->get_require_subcommand_min() == 0) return std::nullopt;
    wrong = ExplainMissingCommand(*app_);
  } catch (const CLI::Success& asked) {
    wrong = ExplainUnknownCommand(*app_);
    if (!wrong.empty()) return Refuse(wrong);
    const int code = app_->exit(asked);
    std::cout.flush();  // what the parser printed, which shares its file with stdout
    const absl::Status printed = FlushStandardOutput(/*failed=*/!std::cout);
    if (printed.ok()) return code;
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), std::string(printed.message()).c_str());
    return 1;
  } catch (const CLI::ParseError& error) {
    wrong = ExplainUsage(*app_, error);
  }
  return Refuse(wrong);
}

int Program::Refuse(const std::string& wrong) {
  const std::string called = CalledCommand(*app_);
  std::fprintf(stderr, "%s: %s\n`%s --help` says more.\n", called.c_str(), wrong.c_str(),
               called.c_str());
  if (wants_document_) {
    const std::string hint = absl::StrCat("`", called, " --help` says more");
    (void)PrintDocument(ErrorDocument(OfJob(WrongUsage(wrong), JobOnLine(*app_)), hint));
  }
  return kExitUsage;
}

int Program::End(const absl::Status& status) const {
  const ExitCode code = ExitCodeOf(status);
  if (code == kExitDone) return code;
  std::fprintf(stderr, "%s: %s\n", name_.c_str(), std::string(status.message()).c_str());
  const std::string called = CalledCommand(*app_);
  const std::string hint = absl::StrCat(
      "`", code == kExitUsage ? called + " --help" : name_ + " help exit-codes", "` says more");
  if (code == kExitUsage) std::fprintf(stderr, "%s.\n", hint.c_str());
  // Of a command that has told what it could, standard output has the document already.
  if (wants_document_ && !HasPrintedDocument()) {
    const bool knows_job = !JobOf(status).empty();
    (void)PrintDocument(ErrorDocument(knows_job ? status : OfJob(status, JobOnLine(*app_)), hint));
  }
  return code;
}

int Program::Run(int argc, const char* const* argv) {
  std::set_terminate(EndUncaught);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of writing
  wants_document_ = WantsDocument(argc, argv);
  if (const std::optional<int> exit_code = Parse(argc, argv)) return *exit_code;
  absl::Status status = Act(action_);
  if (status.ok()) status = FlushStandardOutput();
  return End(status);
}

}  // namespace isocenter::flags
