#!/usr/bin/env bash
# Everything that is wrong without running it: check.sh [--all]. clang-tidy looks at the C++ files that differ from main
# (from the last commit on main itself), or at all with --all; the other checks always look at everything.
# The checks are functions that part() calls by name, which shellcheck takes for unreachable.
# shellcheck disable=SC2317
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

all=
case ${1:-} in
  '') ;;
  --all) all=1 ;;
  *) die "check takes --all or nothing, not \"$1\"" ;;
esac
tools/dev/setup.sh build check

failed=0
part() {
  local name=$1
  shift
  if "$@"; then say "ok      $name"; else
    say "FAILED  $name"
    failed=1
  fi
}

# sources PATTERN..: files of the working tree, each ended by a zero byte.
sources() {
  git ls-files -co --exclude-standard -z -- "$@" | while IFS= read -r -d '' f; do
    [ ! -f "$f" ] || printf '%s\0' "$f"
  done
}

check_format() { sources '*.h' '*.cc' '*.cu' '*.cuh' | xargs -0r clang-format-14 --dry-run --Werror; }

check_shell() {
  sources dev .ci/run '*.sh' | xargs -0r shellcheck -x
}

check_yaml() { sources '*.yml' '*.yaml' | xargs -0r yamllint --strict -c .yamllint; }

check_layers() { python3 -B tests/layers/check_layers.py .; }

check_proto() { python3 -B tools/dev/proto_lint.py proto/isocenter/v1/*.proto; }

check_generated() {
  local writer
  for writer in config_reference dashboards prometheus_rules; do python3 -B "tools/dev/$writer.py" --check || return; done
}

changed_sources() {
  local base
  base=$(git merge-base HEAD main 2>/dev/null || git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
  [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse -q --verify HEAD~1 || git rev-parse HEAD)
  { git diff --name-only --diff-filter=d "$base" && git ls-files -o --exclude-standard; } | sort -u
}

# clang-tidy needs the generated headers and the compile commands, so everything is built first.
check_tidy() {
  local files
  if [ -n "$all" ]; then
    files=$(git ls-files -co --exclude-standard)
  else
    files=$(changed_sources)
  fi
  files=$(grep -E '\.cc$' <<<"$files" | while read -r f; do
    ! grep -qF "\"file\": \"$PWD/$f\"" build/release/compile_commands.json || say "$f"
  done) || true
  [ -n "$files" ] || return 0
  say "clang-tidy: $(wc -l <<<"$files") files"
  printf '%s\n' "$files" >build/check.tidy.files
  # The count of warnings in system headers is of no interest; the name of the file at hand is.
  # shellcheck disable=SC2016
  logged 'clang-tidy' build/check.tidy.log xargs -a build/check.tidy.files -P "$jobs" -n 1 \
    bash -c 'printf "%s\n" "$1"; clang-tidy-19 -p build/release --quiet "$1" 2> >(grep -v "warnings generated" >&2)' -
}

part 'format (./dev fmt repairs it)' check_format
part 'rooms (docs/rooms.md)' check_layers
part 'shell scripts' check_shell
part 'yaml files' check_yaml
part 'proto files' check_proto
part 'generated pages and dashboards' check_generated
tools/dev/build.sh --preset release
part 'clang-tidy' check_tidy
exit "$failed"
