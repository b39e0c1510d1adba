#include "client/flags/completion/fish.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace isocenter::flags {
namespace {

// @COMMANDS@ are the patterns of a `case`. What is offered where follows the script.
constexpr char kScript[] = R"(# fish completion of @NAME@, written by `@NAME@ completion fish`
# The command that the line names so far.
function __@NAME@_command
    set -l command @NAME@
    for word in (commandline -opc)[2..-1]
        switch "$command $word"
            case @COMMANDS@
                set command "$command $word"
        end
    end
    echo $command
end
function __@NAME@_is
    test (__@NAME@_command) = "$argv"
end
# Names that the service knows, of this kind; nothing where it does not answer within a second.
function __@NAME@_names --argument-names kind
    set -l words (commandline -opc)
    set -l asked __names $kind
    for i in (seq (count $words))
        for flag in server ca cert key token-file node
            if string match -q -- "--$flag=*" $words[$i]
                set -a asked $words[$i]
            else if test "$words[$i]" = --$flag -a $i -lt (count $words)
                set -a asked $words[$i] $words[(math $i + 1)]
            end
        end
    end
    $words[1] $asked 2>/dev/null </dev/null
end
# One word, or more with commas between them.
function __@NAME@_list
    set -l begun (string match -r -- '^(?:--[^=]*=)?(.*,)' (commandline -ct))[2]
    printf '%s\n' "$begun"$argv
end
complete -c @NAME@ -e
)";

/// As one word of fish, whatever is in it.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

/// What `complete` is told of the place where this is offered.
std::string OfferText(const std::string& name, const Offer& offer) {
  if (!offer.kind.empty()) return absl::StrCat(" -f -a '(__", name, "_names ", offer.kind, ")'");
  if (offer.words.empty()) return " -F";
  const std::string words = absl::StrJoin(offer.words, " ");
  if (offer.takes_list) return absl::StrCat(" -f -a '(__", name, "_list ", words, ")'");
  return absl::StrCat(offer.or_file ? " -F" : " -f", " -a ", Quoted(words));
}

std::string HelpText(absl::string_view help) {
  return help.empty() ? "" : absl::StrCat(" -d ", Quoted(absl::StrReplaceAll(help, {{"\n", " "}})));
}

/// The lines of one command. `help`: of commands, by their paths.
std::string LinesOf(const std::string& name, const CommandOnLine& command,
                    const std::map<std::string, std::string>& help) {
  const std::string begin =
      absl::StrCat("complete -c ", name, " -n '__", name, "_is ", command.path, "'");
  std::string lines;
  for (const std::string& below : command.commands) {
    absl::StrAppend(&lines, begin, " -f -a ", below,
                    HelpText(help.at(absl::StrCat(command.path, " ", below))), "\n");
  }
  // Beside commands, and where a command takes nothing, there are no files.
  if (!command.takes_argument) {
    absl::StrAppend(&lines, begin, " -f\n");
  } else if (!command.argument.empty()) {
    absl::StrAppend(&lines, begin, OfferText(name, command.argument), "\n");
  }
  for (const FlagOnLine& flag : command.flags) {
    absl::StrAppend(&lines, begin, " -l ", flag.name,
                    flag.takes_value ? absl::StrCat(" -r", OfferText(name, flag.value)) : "",
                    HelpText(flag.help), "\n");
  }
  return lines;
}

}  // namespace

std::string FishCompletion(const std::vector<CommandOnLine>& commands) {
  const std::string name = commands.front().path;
  std::vector<std::string> patterns;
  std::map<std::string, std::string> help;
  for (const CommandOnLine& command : commands) {
    patterns.push_back(Quoted(command.path));
    help[command.path] = command.help;
  }
  std::string script = absl::StrReplaceAll(
      kScript, {{"@NAME@", name}, {"@COMMANDS@", absl::StrJoin(patterns, " ")}});
  for (const CommandOnLine& command : commands) script += LinesOf(name, command, help);
  return script;
}

}  // namespace isocenter::flags
