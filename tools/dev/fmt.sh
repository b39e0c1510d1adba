#!/usr/bin/env bash
# Formats every C++ and CUDA source with clang-format 14, the version that ./dev check compares against.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

tools/dev/setup.sh check
git ls-files -co --exclude-standard -z '*.h' '*.cc' '*.cu' '*.cuh' | xargs -0r clang-format-14 -i
