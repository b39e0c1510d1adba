#include "client/flags/command.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

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
    return absl::StrCat("'", text, "'; legal is a ",
                        std::is_floating_point_v<T> ? "number" : "whole number", " from ",
                        RangeText(least, most));
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
  option_->check(CLI::IsMember(legal));
  return *this;
}

Option& Option::OneOfNumbers(const std::vector<int>& legal) {
  option_->check(CLI::IsMember(legal));
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

Command Command::Subcommand(const std::string& name, const std::string& description) {
  return {app_->add_subcommand(name, description), action_};
}

Command Command::OneOfThese(const std::string& heading) {
  CLI::Option_group* group = app_->add_option_group(heading, "exactly one of these");
  group->require_option(1);
  return {group, action_};
}

template <class T>
Option Command::Add(const std::string& names, T& target, const std::string& help) {
  return Option(OfItsType<T>(app_->add_option(names, target, help)));
}

template Option Command::Add(const std::string&, std::string&, const std::string&);
template Option Command::Add(const std::string&, std::filesystem::path&, const std::string&);
template Option Command::Add(const std::string&, int&, const std::string&);
template Option Command::Add(const std::string&, int64_t&, const std::string&);
template Option Command::Add(const std::string&, double&, const std::string&);
template Option Command::Add(const std::string&, std::optional<int>&, const std::string&);
template Option Command::Add(const std::string&, std::optional<double>&, const std::string&);
template Option Command::Add(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::Add(const std::string&, std::vector<int>&, const std::string&);
template Option Command::Add(const std::string&, std::vector<double>&, const std::string&);

Option Command::AddSwitch(const std::string& names, bool& target, const std::string& help) {
  return Option(app_->add_flag(names, target, help));
}

template <class T>
Option Command::AddSetter(const std::string& names, std::function<void(const T&)> set,
                          const std::string& help) {
  return Option(OfItsType<T>(app_->add_option_function<T>(names, std::move(set), help)));
}

template Option Command::AddSetter(const std::string&, std::function<void(const std::string&)>,
                                   const std::string&);
template Option Command::AddSetter(const std::string&, std::function<void(const double&)>,
                                   const std::string&);
template Option Command::AddSetter(const std::string&, std::function<void(const uint64_t&)>,
                                   const std::string&);

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
  app_->name(name);
  app_->set_version_flag("--version", name + " " + version);
  app_->require_subcommand(1);
}

Program::~Program() = default;

int Program::Run(int argc, char** argv) {
  std::set_terminate(EndUncaught);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : 2;
  }
  if (const absl::Status status = Act(action_); !status.ok()) {
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}

}  // namespace isocenter::flags
