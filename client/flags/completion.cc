#include "client/flags/completion.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "client/flags/choices.h"

namespace isocenter::flags {
namespace {

/// Branches of the script's `case`s.
struct Branches {
  std::string words;                  // what stands behind a command
  std::string values;                 // what stands behind a flag with a list
  std::string kinds;                  // of names that are asked for behind a flag
  std::vector<std::string> of_jobs;   // commands whose argument is a job
  std::vector<std::string> commands;  // with those above them
  std::vector<std::string> parents;   // commands that have commands
};

/// What kind of names a flag has a value of that only the service knows; nothing of others.
absl::string_view KindOf(absl::string_view flag) {
  if (flag == "to") return "destination";
  for (const absl::string_view kind : {"protocol", "station", "calibration"}) {
    if (flag == kind) return kind;
  }
  return flag == "job" || flag == "reference" ? "job" : "";
}

void AppendOptions(const CLI::App& app, const std::string& path, std::vector<std::string>& next,
                   Branches& branches) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string> choices = ChoicesOf(*option);
    const bool names_file = option->get_type_name() == "FILE";  // a set on disk, not the service's
    if (option->get_lnames().empty() && KindOf(option->get_name()) == "job") {
      branches.of_jobs.push_back(absl::StrCat("'", path, "'"));
    }
    for (const std::string& name : option->get_lnames()) {
      next.push_back(absl::StrCat("--", name));
      if (const absl::string_view kind = KindOf(name); !kind.empty() && !names_file) {
        absl::StrAppend(&branches.kinds, "    '", path, " --", name, "') kind=", kind, " ;;\n");
      }
      if (choices.empty()) continue;
      absl::StrAppend(&branches.values, "    '", path, " --", name, "') words='",
                      absl::StrJoin(choices, " "), "' ;;\n");
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
  absl::StrAppend(&branches.words, "    '", path, "') words='", absl::StrJoin(next, " "), "' ;;\n");
}

}  // namespace

std::string BashCompletion(const CLI::App& root) {
  const std::string name = root.get_name();
  Branches branches;
  Append(root, name, branches);
  return absl::StrReplaceAll(
      R"(# bash completion of @NAME@, written by `@NAME@ completion bash`
# Names that the service knows, of this kind; nothing where it does not answer within a second.
_@NAME@_names() {
  local asked=(__names "$1") flag
  for flag in server ca cert key token-file node; do
    # Of the line, as bash takes host:port for three words.
    [[ $COMP_LINE =~ [[:space:]]--$flag[=[:space:]]+([^[:space:]]+) ]] &&
      asked+=("--$flag" "${BASH_REMATCH[1]}")
  done
  "${COMP_WORDS[0]}" "${asked[@]}" 2>/dev/null </dev/null
}
_@NAME@() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command=@NAME@ words='' kind='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
    @COMMANDS@) command+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command $previous" in
@VALUES@  esac
  case "$command $previous" in
@KINDS@  esac
  if [ -z "$words$kind" ] && [[ $current != -* && $previous != -* ]]; then
    case "$command" in
    @OF_JOBS@) kind=job ;;
    esac
  fi
  if [ -n "$kind" ]; then
    words=$(_@NAME@_names "$kind")
  elif [ -z "$words" ]; then
    case "$command" in
@WORDS@    esac
    case "$command" in
    @PARENTS@) ;;
    *) [[ $current == -* ]] || words='' ;;
    esac
  fi
  if [ -n "$words$kind" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _@NAME@ @NAME@
)",
      {{"@NAME@", name},
       {"@COMMANDS@", absl::StrJoin(branches.commands, "|")},
       {"@PARENTS@", absl::StrJoin(branches.parents, "|")},
       {"@WORDS@", branches.words},
       {"@KINDS@", branches.kinds},
       {"@OF_JOBS@", branches.of_jobs.empty() ? "''" : absl::StrJoin(branches.of_jobs, "|")},
       {"@VALUES@", branches.values}});
}

}  // namespace isocenter::flags
