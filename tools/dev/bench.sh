#!/usr/bin/env bash
# Runs the benchmarks of the release build:
# bench.sh [accuracy [TRAJECTORY.csv] | physics [scatter | head] | retrieve [--rounds N] [--size VOXELS] |
# traces [--jobs N] [--frames N] | arguments of isocenter-bench]
# Without arguments: the FDK table.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

if [ "${1:-}" = accuracy ]; then
  shift
  tools/dev/build.sh --preset release --cuda used isocenter isocenterd
  exec python3 tools/lab/accuracy.py "$@"
fi
if [ "${1:-}" = physics ]; then
  shift
  [ $# -eq 0 ] || [ "$*" = scatter ] || [ "$*" = head ] || die "bench physics takes \"scatter\", \"head\" or nothing, not \"$*\""
  tools/dev/build.sh --preset release --cuda used isocenter
  exec python3 tools/lab/physics_study.py "$@"
fi
if [ "${1:-}" = retrieve ]; then
  shift
  tools/dev/build.sh --preset release --cuda used isocenter isocenterd
  exec tools/lab/private_net.sh python3 tools/lab/retrieve.py "$@"
fi
if [ "${1:-}" = traces ]; then
  shift
  tools/dev/build.sh --preset release --cuda used isocenter isocenterd
  exec tools/lab/private_net.sh python3 tools/lab/traces_cost.py "$@"
fi
tools/dev/build.sh --preset release --cuda used isocenter-bench
[ $# -gt 0 ] || set -- fdk
exec build/release/bin/isocenter-bench "$@"
