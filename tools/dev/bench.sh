#!/usr/bin/env bash
# Runs the benchmarks of the release build: the FDK table, or whatever the arguments ask isocenter-bench for.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

tools/dev/build.sh --preset release isocenter-bench
[ $# -gt 0 ] || set -- fdk
exec build/release/bin/isocenter-bench "$@"
