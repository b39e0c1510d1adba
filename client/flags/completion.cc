#include "client/flags/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "client/flags/choices.h"
#include "client/flags/exit_code.h"

namespace isocenter::flags {
namespace {

/// Branches of the script's `case`s.
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

/// Which jobs a command is for: not one for a job that it would refuse.
absl::string_view JobKindOf(absl::string_view command) {
  static const auto& kinds = *new std::map<absl::string_view, absl::string_view>{
      {"fetch", "completed"}, {"send", "completed"}, {"refine", "completed"},
      {"trace", "completed"}, {"qa", "completed"},   {"cancel", "active"}};
  const auto found = kinds.find(command);
  return found == kinds.end() ? "job" : found->second;
}

/// What kind of names a flag has a value of that only the service knows; nothing of others.
absl::string_view KindOf(absl::string_view flag, absl::string_view command) {
  if (flag == "to") return "destination";
  for (const absl::string_view kind : {"protocol", "station", "calibration"}) {
    if (flag == kind) return kind;
  }
  return flag == "job" || flag == "reference" ? JobKindOf(command) : "";
}

std::string Branch(const std::string& pattern, absl::string_view variable,
                   absl::string_view value) {
  return absl::StrCat("    '", pattern, "') ", variable, "='", value, "' ;;\n");
}

void AppendOptions(const CLI::App& app, const std::string& path, std::vector<std::string>& next,
                   Branches& branches) {
  const absl::string_view command = absl::string_view(path).substr(path.rfind(' ') + 1);
  for (const CLI::Option* option : app.get_options()) {
    std::vector<std::string> choices = ChoicesOf(*option);
    if (choices.empty()) choices = WordsOf(*option);
    const std::string words = absl::StrJoin(choices, " ");
    const bool names_file = option->get_type_name() == "FILE";  // a set on disk, not the service's
    if (option->get_lnames().empty()) {
      const absl::string_view kind = KindOf(option->get_name(), command);
      if (kind == JobKindOf(command)) branches.argument_kinds += Branch(path, "kind", kind);
      if (!choices.empty()) branches.arguments += Branch(path, "offered", words);
    }
    for (const std::string& name : option->get_lnames()) {
      next.push_back(absl::StrCat("--", name));
      const std::string flag = absl::StrCat(path, " --", name);
      if (const absl::string_view kind = KindOf(name, command); !kind.empty() && !names_file) {
        branches.kinds += Branch(flag, "kind", kind);
      }
      if (choices.empty()) continue;
      branches.values += Branch(flag, "offered", words);
      if (option->get_delimiter() == ',') branches.of_lists.push_back(absl::StrCat("'", flag, "'"));
    }
  }
}

void Append(const CLI::App& app, const std::string& path, Branches& branches) {
  std::vector<std::string> next;
  AppendOptions(app, path, next, branches);
  bool is_parent = false;
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (part->get_name().empty()) {
      AppendOptions(*part, path, next, branches);
      continue;
    }
    is_parent = true;
    next.push_back(part->get_name());
    const std::string below = absl::StrCat(path, " ", part->get_name());
    branches.commands.push_back(absl::StrCat("'", below, "'"));
    Append(*part, below, branches);
  }
  if (is_parent) branches.parents.push_back(absl::StrCat("'", path, "'"));
  branches.words += Branch(path, "offered", absl::StrJoin(next, " "));
}

/// Of a `case`; one that nothing matches where there is none.
std::string Patterns(const std::vector<std::string>& patterns) {
  return patterns.empty() ? "''" : absl::StrJoin(patterns, "|");
}

}  // namespace

std::string BashCompletion(const CLI::App& root) {
  const std::string name = root.get_name();
  Branches branches;
  Append(root, name, branches);
  std::vector<std::string> topics{kExitCodesTopic};
  for (const CLI::App* part : root.get_subcommands([](const CLI::App*) { return true; })) {
    if (!part->get_name().empty()) topics.push_back(part->get_name());
  }
  return absl::StrReplaceAll(
      R"(# bash completion of @NAME@, written by `@NAME@ completion bash`
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
    '@NAME@ help') command='@NAME@ help' ;;
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
    '@NAME@ help') offered='@TOPICS@' ;;
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
)",
      {{"@NAME@", name},
       {"@COMMANDS@", Patterns(branches.commands)},
       {"@PARENTS@", Patterns(branches.parents)},
       {"@WORDS@", branches.words},
       {"@KINDS@", branches.kinds},
       {"@LISTS@", Patterns(branches.of_lists)},
       {"@TOPICS@", absl::StrJoin(topics, " ")},
       {"@ARGUMENTS@", branches.arguments},
       {"@ARGUMENTKINDS@", branches.argument_kinds},
       {"@VALUES@", branches.values}});
}

}  // namespace isocenter::flags
