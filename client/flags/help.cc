#include "client/flags/help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/flags/choices.h"

namespace isocenter::flags {
namespace {

constexpr size_t kWidest = 100, kNarrowest = 40;

/// Columns that lines may have: those of the terminal that shows them, else kWidest.
size_t Width() {
  winsize terminal{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) != 0 ||
      terminal.ws_col == 0) {
    return kWidest;
  }
  return std::clamp<size_t>(terminal.ws_col, kNarrowest, kWidest);
}

/// Where the right side of an entry begins; in a narrow terminal below the left side.
size_t Column() { return Width() < 70 ? 6 : 30; }

/// "  left    right", the right side broken between words and under itself.
std::string Entry(const std::string& left, const std::string& right) {
  const size_t column = Column(), width = Width();
  std::string text, line = absl::StrCat("  ", left);
  const auto end_line = [&] {
    absl::StrAppend(&text, line, "\n");
    line.clear();
  };
  if (line.size() >= column && !right.empty()) end_line();
  for (const absl::string_view word : absl::StrSplit(right, ' ', absl::SkipEmpty())) {
    if (line.size() >= column && line.size() + 1 + word.size() > width) end_line();
    line.append(line.size() < column ? column - line.size() : 1, ' ');
    absl::StrAppend(&line, word);
  }
  end_line();
  return text;
}

/// A line as it is written, broken between words where it is too long: an example, which is
/// indented, as a shell reads it.
std::string Wrapped(absl::string_view line) {
  const bool is_example = absl::StartsWith(line, "  ");
  const absl::string_view end = is_example ? " \\" : "", indent = is_example ? "      " : "";
  std::string text;
  while (line.size() + (text.empty() ? 0 : indent.size()) > Width()) {
    const size_t room = Width() - end.size() - (text.empty() ? 0 : indent.size());
    size_t at = line.substr(0, room + 1).rfind(' ');
    if (at == absl::string_view::npos || line.substr(0, at).find_first_not_of(' ') == line.npos) {
      at = line.find(' ', room);  // a word that is longer than a line
    }
    if (at == absl::string_view::npos) break;
    absl::StrAppend(&text, text.empty() ? "" : indent,
                    absl::StripTrailingAsciiWhitespace(line.substr(0, at)), end, "\n");
    line = absl::StripLeadingAsciiWhitespace(line.substr(at));
  }
  return absl::StrCat(text, text.empty() ? "" : indent, line);
}

/// Every line of a text.
std::string WrappedText(const std::string& text) {
  return absl::StrJoin(absl::StrSplit(text, '\n'), "\n",
                       [](std::string* out, absl::string_view line) { *out += Wrapped(line); });
}

/// The library's name of a type, and behind it what its values may be: "INT:1 to 16".
std::pair<std::string, std::string> TypeAndLegal(const CLI::Option& option) {
  return absl::StrSplit(option.get_type_name(), absl::MaxSplits(':', 1));
}

bool IsSwitch(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

std::string Upper(const std::string& name) { return absl::AsciiStrToUpper(name); }

/// What stands for a flag's value.
std::string ValueName(const CLI::Option& option) {
  const auto [type, legal] = TypeAndLegal(option);
  if (legal == "BYTES") return legal;
  if (type == "INT" || type == "UINT") return "N";
  if (type == "FLOAT") return "NUMBER";
  if (!ChoicesOf(option).empty() && !option.get_lnames().empty()) {
    return Upper(option.get_lnames().front());
  }
  return type;
}

std::string Name(const CLI::Option& option) {
  const bool is_repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  const char* const more = is_repeated ? "..." : "";
  if (option.get_positional()) return absl::StrCat(Upper(option.get_name(true, false)), more);
  const std::string name = absl::StrJoin(absl::StrSplit(option.get_name(false, true), ','), ", ");
  if (IsSwitch(option)) return name;
  const std::string value = ValueName(option);
  if (option.get_expected_min() == 0) return absl::StrCat(name, " [", value, "]");
  return absl::StrCat(name, " ", value, more);
}

std::string NamesOf(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) {
    const std::string name = option->get_name();
    names.push_back(option->get_positional() ? Upper(name) : name);
  }
  std::ranges::sort(names);
  return absl::StrJoin(names, ", ");
}

/// Of a list as it is given: the library's own is "[a,b]".
std::string DefaultOf(const CLI::Option& option) {
  const std::string whole = option.get_default_str();
  absl::string_view text = whole;
  if (option.get_delimiter() == '\0' || !absl::ConsumePrefix(&text, "[")) return std::string(text);
  absl::ConsumeSuffix(&text, "]");
  return absl::StrReplaceAll(text, {{",", std::string(1, option.get_delimiter())}, {"\"", ""}});
}

/// What holds of its values, each a part of the brackets behind a description.
std::string Terms(const CLI::Option& option) {
  std::vector<std::string> terms;
  if (option.get_required() && !option.get_positional()) terms.emplace_back("required");
  const std::string legal = TypeAndLegal(option).second;
  if (const std::vector<std::string> choices = ChoicesOf(option); !choices.empty()) {
    terms.push_back(Either(choices));
  } else if (!legal.empty() && legal != "BYTES") {
    terms.push_back(option.get_expected_min() > 1 ? absl::StrCat("each ", legal) : legal);
  }
  // Of a value that may be left out, the description says what that means.
  if (!IsSwitch(option) && !option.get_default_str().empty() && option.get_expected_min() > 0) {
    terms.push_back(absl::StrCat("default ", DefaultOf(option)));
  }
  if (!option.get_envname().empty()) terms.push_back(absl::StrCat("or $", option.get_envname()));
  if (!option.get_needs().empty()) {
    terms.push_back(absl::StrCat("with ", NamesOf(option.get_needs())));
  }
  if (!option.get_excludes().empty()) {
    terms.push_back(absl::StrCat("not with ", NamesOf(option.get_excludes())));
  }
  return terms.empty() ? "" : absl::StrCat(" [", absl::StrJoin(terms, "; "), "]");
}

std::string Section(const std::string& heading, const std::vector<const CLI::Option*>& options) {
  if (options.empty()) return "";
  std::string text = absl::StrCat("\n", heading, ":\n");
  for (const CLI::Option* option : options) {
    absl::StrAppend(&text,
                    Entry(Name(*option), absl::StrCat(option->get_description(), Terms(*option))));
  }
  return text;
}

std::vector<const CLI::Option*> Flags(const CLI::App& app, const std::string& group) {
  return app.get_options([&group](const CLI::Option* option) {
    return option->get_group() == group && option->nonpositional();
  });
}

std::vector<const CLI::Option*> Positionals(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

/// Commands by their headings; a part without a name is a group of flags.
std::string Parts(const CLI::App& app) {
  std::string text;
  std::vector<std::string> headings;
  for (const CLI::App* part : app.get_subcommands({})) {
    if (!part->get_name().empty()) {
      if (std::ranges::find(headings, part->get_group()) == headings.end()) {
        headings.push_back(part->get_group());
      }
      continue;
    }
    const CLI::Option* help = part->get_help_ptr();  // which nobody can give
    absl::StrAppend(
        &text,
        Section(absl::StrCat(part->get_group(), ", ", part->get_description()),
                part->get_options([help](const CLI::Option* option) { return option != help; })));
  }
  for (const std::string& heading : headings) {
    absl::StrAppend(&text, "\n", heading, ":\n");
    for (const CLI::App* part : app.get_subcommands({})) {
      if (part->get_name().empty() || part->get_group() != heading) continue;
      absl::StrAppend(&text, Entry(part->get_name(), part->get_description()));
    }
  }
  return text;
}

std::string Usage(const CLI::App& app, const std::string& name) {
  std::string text = absl::StrCat("Usage: ", name, " [OPTIONS]");
  for (const CLI::Option* option : Positionals(app)) {
    const std::string shown = Name(*option);
    absl::StrAppend(&text, " ", option->get_required() ? shown : absl::StrCat("[", shown, "]"));
  }
  const auto named = [](const CLI::App* part) { return !part->get_name().empty(); };
  if (!app.get_subcommands(named).empty()) {
    text += app.get_require_subcommand_min() == 0 ? " [COMMAND]" : " COMMAND";
  }
  return text + "\n";
}

class Format : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode /*mode*/) const override {
    std::string text = absl::StrCat(WrappedText(app->get_description()), "\n", Usage(*app, name),
                                    Section("Arguments", Positionals(*app)));
    for (const std::string& group : app->get_groups()) {
      absl::StrAppend(&text, Section(group, Flags(*app, group)));
    }
    absl::StrAppend(&text, Parts(*app));
    if (!app->get_footer().empty()) {
      absl::StrAppend(&text, "\n", WrappedText(app->get_footer()), "\n");
    }
    return text;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> HelpFormat() { return std::make_shared<Format>(); }

}  // namespace isocenter::flags
