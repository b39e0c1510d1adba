# Shared by the scripts of this folder, which source it from the repository root.
# shellcheck shell=bash

jobs=${JOBS:-$(nproc)}
export jobs

say() { printf '%s\n' "$*"; }

warn() { printf '%s\n' "$*" >&2; }

# die MESSAGE [WHAT TO DO]: ends the script.
die() {
  warn "error: $1"
  [ $# -lt 2 ] || warn "  $2"
  exit 1
}

# last_words FILE: the last line of a log, short enough for a terminal. Ninja's "[12/345] path" becomes "[12/345]".
last_words() {
  tail -c 4096 "$1" 2>/dev/null | tr '\r' '\n' | grep -a . | tail -n 1 | sed -E 's/^(\[[0-9]+\/[0-9]+\]).*/\1/' | cut -c 1-90
}

# logged TITLE LOG COMMAND..: runs a command with its output in LOG; says that it is still at work on long ones; on
# failure shows the end of the log and returns the command's exit status.
logged() {
  local title=$1 log=$2 began=$SECONDS pid status=0 said=0
  shift 2
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  # The trap ends the command when the script itself is ended.
  # shellcheck disable=SC2064
  trap "kill $pid 2>/dev/null; exit 130" INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if [ $((SECONDS - began - said)) -ge 15 ]; then
      said=$((SECONDS - began))
      say "  $title: ${said} s  $(last_words "$log")"
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  if [ "$status" -ne 0 ]; then
    warn "$title failed (exit status $status). The end of $log:"
    grep -aE 'error|Error|FAILED' "$log" | awk '!seen[$0]++' | head -n 20 >&2 || true
    warn '  ...'
    tail -n 40 "$log" >&2
    return "$status"
  fi
  if [ $((SECONDS - began)) -ge 2 ]; then say "$title: done in $((SECONDS - began)) s"; fi
}

# take_preset ARGS..: sets `preset` from --preset P or --preset=P and `rest` to the other arguments.
take_preset() {
  preset=release
  rest=()
  while [ $# -gt 0 ]; do
    case $1 in
      --preset)
        [ $# -ge 2 ] || die '--preset needs a name' 'one of: release dev asan tsan'
        preset=$2
        shift
        ;;
      --preset=*) preset=${1#--preset=} ;;
      *) rest+=("$1") ;;
    esac
    shift
  done
  case $preset in
    release | dev | asan | tsan | fuzz) ;;
    *) die "no preset \"$preset\"" 'one of: release dev asan tsan fuzz' ;;
  esac
}

# What a folder's package-lock.json says, from the npm registry, once: npm_packages FOLDER LOG. Install scripts are not run.
npm_packages() {
  local folder=$1 log=$2
  local installed=$folder/node_modules/.isocenter-lock
  cmp -s "$folder/package-lock.json" "$installed" && return 0
  logged "npm ci ($folder)" "$log" npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund || return 1
  cp "$folder/package-lock.json" "$installed"
}
