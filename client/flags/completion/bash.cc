#include "client/flags/completion/bash.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace isocenter::flags {
namespace {

constexpr char kZshPrelude[] =
    "autoload -Uz compinit bashcompinit\n"
    "(( $+functions[compdef] )) || compinit\n"
    "bashcompinit\n";

// @NAME@ and the like are what a program has of its own: branches and patterns of `case`s.
constexpr char kScript[] = R"(# bash completion of @NAME@, written by `@NAME@ completion bash`
# Names that the service knows, of this kind; nothing where it does not answer within a second.
_@NAME@_names() {
  local asked=(__names "$1") flag rest
  for flag in server ca cert key token-file node; do
    # Of the line, as bash takes host:port for three words.
    rest=${COMP_LINE#*[[:space:]]--$flag[= ]}
    [ "$rest" = "$COMP_LINE" ] || asked+=("--$flag" "${rest%%[[:space:]]*}")
  done
  "${COMP_WORDS[0]}" "${asked[@]}" 2>/dev/null </dev/null
}
_@NAME@() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command=@NAME@ offered='' kind='' files='' before='' i
  # --flag=value: three words of bash, one of zsh.
  if [ "$current" = = ]; then
    current=''
  elif [ "$previous" = = ]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $current == --*=* ]]; then
    previous=${current%%=*} before=${current%%=*}=
    current=${current#*=}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
    @COMMANDS@) command+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command $previous" in
@VALUES@  esac
  case "$command $previous" in
@KINDS@  esac
  if [ -n "$offered" ]; then
    case "$command $previous" in
    @LISTS@)
      if [[ $current == *,* ]]; then
        before+=${current%,*},
        current=${current##*,}
      fi ;;
    *) [[ $current != *[/.]* ]] || files=yes ;;
    esac
  fi
  if [ -z "$offered$kind" ] && [[ $current != -* && $previous != -* ]]; then
    case "$command" in
@ARGUMENTKINDS@    esac
    case "$command" in
@ARGUMENTS@    esac
  fi
  if [ -n "$kind" ]; then
    offered=$(_@NAME@_names "$kind")
  elif [ -z "$offered" ]; then
    case "$command" in
@WORDS@    esac
    case "$command" in
    @PARENTS@) ;;
    *) [[ $current == -* ]] || offered='' ;;
    esac
  fi
  if [ -n "$offered$kind" ] && [ -z "$files" ]; then
    COMPREPLY=($(compgen -P "$before" -W "$offered" -- "$current"))
  else
    COMPREPLY=($(compgen -P "$before" -f -- "$current"))
  fi
}
complete -o filenames -F _@NAME@ @NAME@
)";

/// What the script has of a program's own.
struct Branches {
  std::string words;                  // what stands behind a command
  std::string values;                 // what stands behind a flag with a list
  std::string arguments;              // what stands for a command's argument with a list
  std::string kinds;                  // of names that are asked for behind a flag
  std::string argument_kinds;         // and for a command's argument
  std::vector<std::string> of_lists;  // flags whose values are several, with commas
  std::vector<std::string> commands;  // with those above them
  std::vector<std::string> parents;   // commands that have commands
};

std::string Quoted(absl::string_view text) { return absl::StrCat("'", text, "'"); }

void AppendOffer(const std::string& pattern, const Offer& offer, std::string& words,
                 std::string& kinds) {
  const auto branch = [&](absl::string_view variable, absl::string_view value) {
    return absl::StrCat("    ", Quoted(pattern), ") ", variable, "=", Quoted(value), " ;;\n");
  };
  if (!offer.words.empty()) words += branch("offered", absl::StrJoin(offer.words, " "));
  if (!offer.kind.empty()) kinds += branch("kind", offer.kind);
}

void Append(const CommandOnLine& command, Branches& branches) {
  Offer next{.words = command.commands};
  for (const FlagOnLine& flag : command.flags) {
    next.words.push_back(absl::StrCat("--", flag.name));
    const std::string behind = absl::StrCat(command.path, " --", flag.name);
    AppendOffer(behind, flag.value, branches.values, branches.kinds);
    if (flag.value.takes_list && !flag.value.words.empty()) {
      branches.of_lists.push_back(Quoted(behind));
    }
  }
  AppendOffer(command.path, next, branches.words, branches.kinds);
  AppendOffer(command.path, command.argument, branches.arguments, branches.argument_kinds);
  if (!command.commands.empty()) branches.parents.push_back(Quoted(command.path));
  branches.commands.push_back(Quoted(command.path));
}

/// Of a `case`; one that nothing matches where there is none.
std::string Patterns(const std::vector<std::string>& patterns) {
  return patterns.empty() ? "''" : absl::StrJoin(patterns, "|");
}

}  // namespace

std::string BashCompletion(const std::vector<CommandOnLine>& commands) {
  Branches branches;
  for (const CommandOnLine& command : commands) Append(command, branches);
  return absl::StrReplaceAll(kScript, {{"@NAME@", commands.front().path},
                                       {"@COMMANDS@", Patterns(branches.commands)},
                                       {"@PARENTS@", Patterns(branches.parents)},
                                       {"@WORDS@", branches.words},
                                       {"@KINDS@", branches.kinds},
                                       {"@LISTS@", Patterns(branches.of_lists)},
                                       {"@ARGUMENTS@", branches.arguments},
                                       {"@ARGUMENTKINDS@", branches.argument_kinds},
                                       {"@VALUES@", branches.values}});
}

std::string ZshCompletion(const std::vector<CommandOnLine>& commands) {
  return absl::StrCat(kZshPrelude, BashCompletion(commands));
}

}  // namespace isocenter::flags
