#include "client/flags/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "client/flags/choices.h"
#include "client/flags/synonyms.h"
#include "kernels/base/nearest.h"
#include "kernels/base/utf8.h"

namespace isocenter::flags {
namespace {

/// The program, the command that was called, its command, ...
std::vector<const CLI::App*> Called(const CLI::App& root) {
  std::vector<const CLI::App*> called{&root};
  while (!called.back()->get_subcommands().empty()) {
    called.push_back(called.back()->get_subcommands().front());
  }
  return called;
}

std::vector<const CLI::App*> PartsOf(const CLI::App& app, bool named) {
  return app.get_subcommands(
      [named](const CLI::App* part) { return part->get_name().empty() != named; });
}

/// Groups have a --help of their own, which nobody can give.
std::vector<const CLI::Option*> OptionsOfGroup(const CLI::App& group) {
  const CLI::Option* help = group.get_help_ptr();
  return group.get_options([help](const CLI::Option* option) { return option != help; });
}

/// All options of a command, those of its groups included.
std::vector<const CLI::Option*> OptionsOf(const CLI::App& app) {
  std::vector<const CLI::Option*> options = app.get_options();
  for (const CLI::App* group : PartsOf(app, /*named=*/false)) {
    const std::vector<const CLI::Option*> more = OptionsOfGroup(*group);
    options.insert(options.end(), more.begin(), more.end());
  }
  return options;
}

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : OptionsOf(app)) {
    for (const std::string& name : option->get_lnames()) names.push_back(absl::StrCat("--", name));
    for (const std::string& name : option->get_snames()) names.push_back(absl::StrCat("-", name));
  }
  return names;
}

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : PartsOf(app, /*named=*/true)) names.push_back(command->get_name());
  return names;
}

std::string Upper(const std::string& name) { return absl::AsciiStrToUpper(name); }

/// As a user writes it: --fps, or INPUT.
std::string Shown(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return absl::StrCat("--", option.get_lnames().front());
  if (!option.get_snames().empty()) return absl::StrCat("-", option.get_snames().front());
  return Upper(option.get_name());
}

bool IsFlag(absl::string_view word) { return word.size() > 1 && word[0] == '-'; }

/// "--fsp" of "--fsp=3".
std::string NameIn(const std::string& word) { return word.substr(0, word.find('=')); }

/// "; did you mean --version?" of -v, where no other flag begins so.
std::string LetterMeant(absl::string_view flag, const std::vector<std::string>& flags) {
  if (flag.size() != 2 || flag == "--") return "";
  std::vector<std::string> begun;
  for (const std::string& each : flags) {
    if (absl::StartsWith(each, absl::StrCat("-", flag))) begun.push_back(each);
  }
  return begun.size() == 1 ? absl::StrCat("; did you mean ", begun.front(), "?") : "";
}

std::string UnknownFlag(const std::vector<const CLI::App*>& called, size_t level,
                        const std::string& word) {
  const std::string flag = NameIn(word);
  const CLI::App& app = *called[level];
  for (size_t later = level + 1; later < called.size(); ++later) {
    const std::vector<std::string> there = FlagsOf(*called[later]);
    if (std::ranges::find(there, flag) == there.end()) continue;
    return absl::StrCat(flag, " stands before the command that it belongs to; legal is ",
                        called[later]->get_name(), " ", flag);
  }
  const std::vector<std::string> flags = FlagsOf(app);
  std::string meant = SynonymMeant(flag, flags);
  if (meant.empty()) meant = DidYouMean(flag, flags);
  if (meant.empty()) meant = NearSynonymMeant(flag, flags);
  if (meant.empty()) meant = LetterMeant(flag, flags);
  return absl::StrCat("there is no flag ", flag, meant);
}

/// Dashes that editors and web pages make of "-" and "--".
std::string WithPlainDashes(const std::string& word) {
  return absl::StrReplaceAll(word, {{"\u2010", "-"},
                                    {"\u2011", "-"},
                                    {"\u2012", "-"},
                                    {"\u2013", "--"},
                                    {"\u2014", "--"},
                                    {"\u2212", "-"}});
}

/// "; did you mean --phantom head?" of a word that is a value of one flag that is not given.
std::string ValueMeant(const CLI::App& app, const std::string& word) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : OptionsOf(app)) {
    const std::vector<std::string> choices = ChoicesOf(*option);
    if (option->count() > 0 || std::ranges::find(choices, word) == choices.end()) continue;
    flags.push_back(absl::StrCat(Shown(*option), " ", word));
  }
  return flags.size() == 1 ? absl::StrCat("; did you mean ", flags.front(), "?") : "";
}

/// Of required flags the first that is not there, of groups that ask for exactly one their names.
std::string Missing(const CLI::App& app) {
  for (const CLI::Option* option : OptionsOf(app)) {
    if (!option->get_required() || option->count() > 0) continue;
    return absl::StrCat(Shown(*option), " is missing: ", option->get_description());
  }
  for (const CLI::App* group : PartsOf(app, /*named=*/false)) {
    if (group->get_require_option_min() != 1) continue;
    std::vector<std::string> names, given;
    for (const CLI::Option* option : OptionsOfGroup(*group)) {
      names.push_back(Shown(*option));
      if (option->count() > 0) given.push_back(names.back());
    }
    if (given.size() == 1) continue;
    return absl::StrCat(given.empty() ? "one flag is missing" : absl::StrJoin(given, " with "),
                        "; legal is exactly one of ", absl::StrJoin(names, ", "));
  }
  return "";
}

/// "; did you mean --config a.textproto?" of the name of a file, or "--to PACS" of what looks like
/// an AE title, where one flag takes one.
std::string FileOrPeerMeant(const CLI::App& app, const std::string& word) {
  const bool is_file = absl::StrContains(word, '.') || absl::StrContains(word, '/');
  const bool is_peer = word.size() > 1 && std::ranges::none_of(word, absl::ascii_islower);
  if (!is_file && !is_peer) return "";
  std::vector<std::string> flags;
  for (const CLI::Option* option : OptionsOf(app)) {
    if (option->count() > 0 || option->get_type_name() != (is_file ? "FILE" : "AE")) continue;
    flags.push_back(absl::StrCat(Shown(*option), " ", word));
  }
  return flags.size() == 1 ? absl::StrCat("; did you mean ", flags.front(), "?") : "";
}

std::string UnknownWord(const CLI::App& app, const std::string& word) {
  if (const std::string plain = WithPlainDashes(word); plain != word && plain[0] == '-') {
    return absl::StrCat("'", word, "' begins with a dash that is no '-'",
                        DidYouMean(NameIn(plain), FlagsOf(app)));
  }
  const std::vector<std::string> commands = CommandsOf(app);
  if (commands.empty()) {
    std::string meant = ValueMeant(app, word);
    if (meant.empty()) meant = DidYouMean(absl::StrCat("--", word), FlagsOf(app));
    if (meant.empty()) meant = FileOrPeerMeant(app, word);
    // It may stand where a flag is missing: `compare a b` without --truth.
    const std::string missing = meant.empty() ? Missing(app) : "";
    return absl::StrCat("'", word, "' is one argument too many", meant, missing.empty() ? "" : "; ",
                        missing);
  }
  constexpr size_t kReadable = 12;
  std::string nearest = SynonymMeant(word, commands);
  if (nearest.empty()) nearest = DidYouMean(word, commands);
  const std::vector<std::string> flags = FlagsOf(app);
  if (std::ranges::find(flags, absl::StrCat("--", word)) != flags.end()) {
    nearest = absl::StrCat("; did you mean --", word, "?");  // version
  }
  return absl::StrCat(
      "there is no command '", word, "'",
      nearest.empty() && commands.size() <= kReadable ? LegalText(commands) : nearest);
}

/// What was not understood, empty if everything was.
std::string Unknown(const CLI::App& root) {
  const std::vector<const CLI::App*> called = Called(root);
  for (size_t level = 0; level < called.size(); ++level) {
    std::vector<std::string> words = called[level]->remaining();
    // Behind "--" nothing is a flag.
    const auto mark = std::ranges::find(words, "--");
    const ptrdiff_t flags = mark - words.begin();
    if (mark != words.end()) words.erase(mark);
    // The flags behind a command that is none are those of the one that is meant.
    const bool lacks_command = level + 1 == called.size() && !CommandsOf(*called[level]).empty();
    if (lacks_command && !words.empty() && !IsFlag(words.front())) {
      return UnknownWord(*called[level], words.front());
    }
    const auto end = words.begin() + flags;
    const auto flag = std::find_if(words.begin(), end, IsFlag);
    if (flag != end) return UnknownFlag(called, level, *flag);
    if (words.empty()) continue;
    // A word that a command has no place for is handed to the program.
    const CLI::App& meant = CommandsOf(*called.back()).empty() ? *called.back() : *called[level];
    return UnknownWord(meant, words.front());
  }
  return "";
}

/// Whether a word is a flag of some command that has a value behind it.
bool TakesValue(const CLI::App& app, const std::string& word) {
  if (!IsFlag(word)) return false;
  const CLI::Option* const option = app.get_option_no_throw(word);
  if (option != nullptr && option->get_items_expected_max() > 0) return true;
  const auto parts = app.get_subcommands([](const CLI::App*) { return true; });
  return std::ranges::any_of(parts, [&](const CLI::App* part) { return TakesValue(*part, word); });
}

/// The option whose name a message of the parser begins with.
const CLI::Option* NamedAtFront(const CLI::App& app, absl::string_view message) {
  const CLI::Option* found = nullptr;
  for (const CLI::Option* option : OptionsOf(app)) {
    const std::string name = option->get_name();
    if (!absl::StartsWith(message, name)) continue;
    if (found == nullptr || found->get_name().size() < name.size()) found = option;
  }
  return found;
}

/// Our own validators' words, which begin with the value, behind the name of the flag.
std::string WrongValue(const CLI::App& app, absl::string_view message) {
  const CLI::Option* option = NamedAtFront(app, message);
  const size_t colon = message.find(": ");
  if (option == nullptr || colon == absl::string_view::npos) return std::string(message);
  std::string text = absl::StrCat(Shown(*option), " is ", message.substr(colon + 2));
  if (option->get_delimiter() == '\0') return text;
  const int values = option->get_items_expected_min();
  // Of what is legal, hence before what may have been meant.
  text.insert(std::min(text.find("; did you mean"), text.size()),
              absl::StrCat(values > 1 ? absl::StrCat(", ", values, " of them") : ", or several",
                           " with '", std::string(1, option->get_delimiter()), "' between them"));
  return text;
}

/// A flag with too few or too many values.
std::string WrongCount(const CLI::App& app, absl::string_view message) {
  if (const size_t end = message.find(" was given a disallowed"); end != absl::string_view::npos) {
    return absl::StrCat("--", message.substr(0, end), " is a switch and has no value");
  }
  const CLI::Option* option = NamedAtFront(app, message);
  if (option == nullptr) return "a flag has too few or too many values";
  const size_t each = std::max(option->get_items_expected_max(), 1);  // values of one time
  if (absl::StrContains(message, "At Most") && option->count() % each == 0) {
    return absl::StrCat(Shown(*option), " is given ", option->count() / each,
                        " times; legal is once");
  }
  const int wanted = option->get_items_expected_min();
  std::string values = wanted == 1 ? "a value" : absl::StrCat(wanted, " values");
  if (option->get_delimiter() != '\0') {
    absl::StrAppend(&values, " with '", std::string(1, option->get_delimiter()), "' between them");
  }
  std::string given;
  if (option->count() > 0) {
    const char between = option->get_delimiter() == '\0' ? ' ' : option->get_delimiter();
    given =
        absl::StrCat(" is '", absl::StrJoin(option->results(), std::string(1, between)), "', but");
  }
  return absl::StrCat(Shown(*option), given, " needs ", values, ": ", option->get_description(),
                      LegalText(ChoicesOf(*option)));
}

/// A switch with a value that is none, the only thing that is converted without a check of ours.
std::string NoSuchValue(const CLI::App& app, absl::string_view message) {
  for (const CLI::Option* option : OptionsOf(app)) {
    if (option->count() == 0 || !absl::StrContains(message, option->get_name())) continue;
    if (option->get_items_expected_max() == 0) {
      return absl::StrCat(Shown(*option), " is a switch and has no value");
    }
    return absl::StrCat(Shown(*option), " is '", absl::StrJoin(option->results(), " "),
                        "', which is no value of it: ", option->get_description());
  }
  return "a flag has a value that is none of it";
}

/// Two flags that exclude each other.
std::string Together(const CLI::App& app) {
  for (const CLI::Option* option : OptionsOf(app)) {
    if (option->count() == 0) continue;
    for (const CLI::Option* other : option->get_excludes()) {
      if (other->count() == 0) continue;
      return absl::StrCat(Shown(*option), " with ", Shown(*other), "; legal is one of them");
    }
  }
  return "two flags that are given exclude each other";
}

/// The mistake at which the parser has stopped.
std::string Explain(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& app = *Called(root).back();
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) {
    return WrongValue(app, message);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return WrongCount(app, message);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return NoSuchValue(app, message);
  }
  // A name that is not known may be the flag that is missed.
  if (const std::string unknown = Unknown(root); !unknown.empty()) return unknown;
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) return Together(app);
  if (const std::string missing = Missing(app); !missing.empty()) return missing;
  if (!CommandsOf(app).empty()) return ExplainMissingCommand(root);
  return "the command line is not understood";
}

/// What a flag's own values are refused for, those that the parser has not come to included.
std::string WrongValues(const CLI::App& root, const CLI::Option& option) {
  if (option.count() == 0) return "";
  try {
    (void)option.reduced_results();
  } catch (const CLI::ParseError& error) {
    return Explain(root, error);
  }
  return "";
}

}  // namespace

std::string CalledCommand(const CLI::App& root) {
  return absl::StrJoin(Called(root), " ", [](std::string* out, const CLI::App* app) {
    absl::StrAppend(out, app->get_name());
  });
}

std::string JobOnLine(const CLI::App& root) {
  const CLI::Option* named = nullptr;
  for (const CLI::Option* option : OptionsOf(*Called(root).back())) {
    const std::string type = option->get_type_name();
    if (type != "JOB" && type != "JOB...") continue;
    if (named == nullptr || option->get_positional()) named = option;
  }
  if (named == nullptr || named->results().size() != 1) return "";
  return named->results().front();
}

std::string ExplainUnknownCommand(const CLI::App& root) {
  const CLI::App& app = *Called(root).back();
  const std::vector<std::string> words = app.remaining();
  if (CommandsOf(app).empty() || words.empty() || IsFlag(words.front())) return "";
  return UnknownWord(app, words.front());
}

std::string ExplainText(const CLI::App& root, int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view word = argv[i];
    const std::string wrong = NotUtf8(word);
    if (wrong.empty()) continue;
    const size_t equals = word.find('=');
    std::string where = absl::StrCat("argument ", i), text = std::string(word), what = wrong;
    if (absl::StartsWith(word, "--") && equals != absl::string_view::npos &&
        NotUtf8(word.substr(0, equals)).empty()) {
      where = std::string(word.substr(0, equals));
      text = std::string(word.substr(equals + 1));
      what = NotUtf8(text);
    } else if (TakesValue(root, argv[i - 1])) {
      where = argv[i - 1];
    }
    return absl::StrCat(where, " is '", absl::CHexEscape(text), "', which is ", what,
                        "; legal is UTF-8 text, as a terminal with a UTF-8 locale writes it");
  }
  return "";
}

std::string ExplainMissingCommand(const CLI::App& root) {
  const CLI::App& app = *Called(root).back();
  const std::vector<std::string> commands = CommandsOf(app);
  return absl::StrCat("a command is missing", LegalText(commands));
}

std::string ExplainUsage(const CLI::App& root, const CLI::ParseError& error) {
  constexpr size_t kMostMistakes = 10;
  std::vector<std::string> mistakes{Explain(root, error)};
  const auto add = [&](const std::string& wrong) {
    if (wrong.empty() || std::ranges::find(mistakes, wrong) != mistakes.end()) return;
    mistakes.push_back(wrong);
  };
  const CLI::App& app = *Called(root).back();
  for (const CLI::Option* option : OptionsOf(app)) add(WrongValues(root, *option));
  // Values are looked at when all words have been read; after another error some may not be.
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) {
    const std::string unknown = Unknown(root);
    add(unknown);
    if (unknown.empty()) add(Missing(app));  // else what is not known may be it
  }
  if (mistakes.size() > kMostMistakes) {
    const size_t more = mistakes.size() - kMostMistakes;
    mistakes.resize(kMostMistakes);
    mistakes.push_back(absl::StrCat("and ", more, " more"));
  }
  return absl::StrJoin(mistakes, "\n");
}

}  // namespace isocenter::flags
