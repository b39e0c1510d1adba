#include "client/flags/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

namespace isocenter::flags {

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
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::Range(int64_t least, int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::Range(double least, double most) {
  option_->check(CLI::Range(least, most));
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
  return Option(app_->add_option(names, target, help));
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
  return Option(app_->add_option_function<T>(names, std::move(set), help));
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
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : 2;
  }
  if (const absl::Status status = action_(); !status.ok()) {
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}

}  // namespace isocenter::flags
