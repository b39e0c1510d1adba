#!/usr/bin/env bash
# Runs the benchmarks of the release build; the arguments are isocenter-bench's own.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

tools/dev/build.sh --preset release isocenter-bench
exec build/release/bin/isocenter-bench "$@"
