#!/usr/bin/env bash
# Fuzzes what reads bytes of others, under AddressSanitizer: fuzz.sh [--runs N] [TARGET..]; without any, all of tests/fuzz.
# Inputs that make new code run are kept in build/fuzz/corpus; what fails, in build/fuzz/findings.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

runs=1000000
if [ "${1:-}" = --runs ]; then
  [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--runs is \"${2:-}\"" 'legal is a number of inputs, e.g. --runs 100000'
  runs=$2
  shift 2
fi
if [ $# -eq 0 ]; then
  set -- tests/fuzz/*_fuzz.cc
  set -- "${@#tests/fuzz/}"
  set -- "${@%_fuzz.cc}"
fi
tools/dev/setup.sh build fuzz
tools/dev/build.sh --preset fuzz "${@/%/_fuzz}"

# Nobody takes memory for what an input only claims to hold. DCMTK asks for up to 4 GiB before anything has come; it is
# refused, as it may be where memory is short, and DCMTK goes on. Everybody else ends where memory is refused.
# Leaks are not looked for: looking after each input takes longer than the input. The unit tests of the preset asan do.
export ASAN_OPTIONS=max_allocation_size_mb=64:allocator_may_return_null=1:detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}

status=0
for target in "$@"; do
  mkdir -p "build/fuzz/corpus/$target" build/fuzz/findings
  log=build/fuzz.$target.log
  say "Fuzzing $target with $runs inputs (log: $log)"
  # Associations that trickle are cut off by time, not by libFuzzer.
  dictionary=tests/fuzz/dictionaries/$target
  [ -e "$dictionary" ] || dictionary=
  "build/fuzz/bin/${target}_fuzz" -runs="$runs" -timeout=30 -max_len=16384 -print_final_stats=1 \
    -malloc_limit_mb=0 -detect_leaks=0 ${dictionary:+-dict="$dictionary"} \
    -artifact_prefix="build/fuzz/findings/$target-" "build/fuzz/corpus/$target" "tests/fuzz/seeds/$target" \
    >"$log" 2>&1 || status=$?
  sed -n 's/^stat::number_of_executed_units: */inputs: /p' "$log"
  if [ "$status" -ne 0 ]; then
    tail -n 40 "$log"
    break
  fi
done
exit "$status"
