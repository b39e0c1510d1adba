#!/usr/bin/env bash
# Configures when needed and compiles: build.sh [--preset P] [TARGET..]
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

take_preset "$@"
tools/dev/setup.sh build
readonly tree=build/$preset
# Lets another clone of the same sources find what this one has compiled.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# Without these it does not keep what uses the precompiled header of the tests.
export CCACHE_SLOPPINESS=pch_defines,time_macros

if [ ! -e "$tree/build.ninja" ]; then
  logged "Configuring ($preset)" "$tree.configure.log" cmake --preset "$preset" ||
    die 'CMake could not configure' "remove $tree and try again; ./dev setup installs what it looks for"
fi
logged "Building ($preset)" "$tree.build.log" cmake --build "$tree" -j "$jobs" ${rest:+--target "${rest[@]}"} ||
  die 'the build failed' "the whole output: $tree.build.log"
