#!/usr/bin/env bash
# The demonstration of README.md, from nothing: packages, build, then tools/lab/demo.py.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

[ $# -eq 0 ] || die "demo takes no arguments, not \"$1\""
tools/dev/setup.sh build demo
tools/dev/build.sh --preset release --cuda used isocenterd isocenter
exec tools/lab/private_net.sh env ISOCENTER_BIN=build/release/bin python3 -B tools/lab/demo.py
