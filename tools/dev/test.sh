#!/usr/bin/env bash
# Sets up, builds and tests: test.sh [--preset P] [--fault|--attack|--packages] [CTEST ARGS..]. The last line is always "N passed, N failed".
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

take_preset "$@"
readonly tree=build/$preset
output=$tree.test.log
# --fault: the long campaigns instead of everything else; their seeds and tables stay in a log of their own.
if [ "${rest[0]:-}" = --fault ]; then
  rest=(-C long -L fault_long --verbose "${rest[@]:1}")
  output=$tree.fault.log
fi
# --attack: an hour of hostile callers at every door, beside rooms that scan.
if [ "${rest[0]:-}" = --attack ]; then
  rest=(-C long -L attack_long --verbose "${rest[@]:1}")
  output=$tree.attack.log
fi
# --packages: makes what is delivered and installs it in a fresh Debian system.
packages=
if [ "${rest[0]:-}" = --packages ]; then
  rest=(-C packages -L deploy_packages --verbose "${rest[@]:1}")
  output=$tree.packages.log
  packages=1
fi

# A test run that never came to its tests has failed.
count='0 passed, 1 failed'
trap 'say "$count"' EXIT

tools/dev/setup.sh build test
# The page needs npm, which is not on every machine; where it is, the tests drive the page in a browser.
if command -v npm >/dev/null && [ "${rest[0]:-}" != -C ]; then
  tools/dev/setup.sh browser
  tools/dev/page.sh || warn 'the operator page could not be built; its tests are skipped'
  npm_packages tests/deploy/schemas build/schemas.install.log ||
    warn 'the schemas of Kubernetes and Envoy could not be fetched; deploy_kubernetes_api and deploy_envoy_api are skipped' \
      'see build/schemas.install.log'
fi
tools/dev/build.sh --preset "$preset"
if [ -n "$packages" ]; then
  [ "$(id -u)" -eq 0 ] || die '--packages needs root: it unpacks a Debian system and enters it' 'run: sudo ./dev test --packages'
  tools/dev/setup.sh packages
  tools/dev/package.sh
  # Before the tests, which have no network.
  logged 'A fresh Debian system' "$tree.debian.log" python3 -B tests/deploy/debian_root.py
fi

status=0
logged "Testing ($preset)" "$output" ctest --test-dir "$tree" -j "$jobs" --output-on-failure --no-tests=error \
  "${rest[@]}" || status=$?

# results LOG STATE: how many tests ended so. Dots lead from the name to a state in asterisks, blanks to the others.
results() { grep -acE "^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*[ .]$2" "$1" || true; }
# names_of_failed LOG
names_of_failed() { sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*(Failed|Timeout|Exception|Not Run).*/\1/p' "$1"; }
# why TEST LOG LINES: the end of what a failed test printed.
why() {
  awk -v name="$1" '/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / { inside = index($0, ": " name " ") > 0; next }
    /^ *Start +[0-9]+: |^[0-9]+% tests passed/ { inside = 0 } inside' "$2" |
    grep -a . | grep -avE '^(OK|ok |Ran |-+$|=+$)|^\[[-=]|\.\.\. ok$|^\[ +(OK|RUN|PASSED) ' | tail -n "$3" | cut -c 1-220 | sed 's/^/    /' || true
}

case $output in
  "$tree.fault.log" | "$tree.attack.log") say "Seeds and tables: $output" ;;
esac
passed=$(results "$output" 'Passed')
skipped=$(results "$output" '\*\*\*Skipped')
total=$(results "$output" '')
failed=$((total - passed - skipped))

# A few that failed beside others are run once more, alone: what then passes depends on the machine's load or on chance. It counts as
# passed, and is named with what it said, since that is a fault too: of the test, or a rare one of the program.
readonly few=5
if [ "$failed" -gt 0 ] && [ "$failed" -le "$few" ] && [ "$output" = "$tree.test.log" ]; then
  again=$tree.again.log
  logged 'What failed, once more and alone' "$again" ctest --test-dir "$tree" --rerun-failed --output-on-failure && status=0
  failed=$((failed - $(results "$again" 'Passed')))
  passed=$((total - skipped - failed))
  still=" $(names_of_failed "$again" | tr '\n' ' ')"
  for name in $(names_of_failed "$output"); do
    if [[ $still == *" $name "* ]]; then
      say "$name failed twice; the end of what it said:"
      why "$name" "$again" 12
    else
      say "$name failed first and passed alone; what it said first:"
      why "$name" "$output" 8
    fi
  done
fi
if [ "$skipped" -gt 0 ]; then
  say "$skipped skipped, because this machine lacks something that they need:"
  sed -n '/tests did not run:/,/^$/p' "$output" | sed -n 's/^\t//p'
fi
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
count="$passed passed, $failed failed"
exit "$status"
