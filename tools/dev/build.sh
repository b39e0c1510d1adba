#!/usr/bin/env bash
# Configures when needed and compiles: build.sh [--preset P] [--cuda used|checked|shipped] [TARGET..]
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

take_preset "$@"
# For which GPUs CUDA is compiled, where nvcc is found: those of this machine, else none (used); those of this machine, else
# one kind, so that what was changed still compiles (checked); all that the package serves (shipped).
readonly -A generations=([used]=0 [checked]=1 [shipped]=2)
cuda=checked
if [ "${rest[0]:-}" = --cuda ]; then
  cuda=${rest[1]:-}
  [ -n "${generations[$cuda]:-}" ] || die "--cuda is \"$cuda\"" 'one of: used checked shipped'
  rest=("${rest[@]:2}")
fi
tools/dev/setup.sh build
readonly tree=build/$preset
readonly shipped='80-real;90-real;120'
# Lets another clone of the same sources find what this one has compiled.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# A precompiled header of 100 MB is not hashed for every file.
export CCACHE_INODECACHE=1
# Without these it does not keep what uses a precompiled header.
export CCACHE_SLOPPINESS=pch_defines,time_macros

has_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; }

# configured_for: how many generations of GPUs the tree compiles for, as in `generations`; -1 where there is no tree.
configured_for() {
  [ -e "$tree/build.ninja" ] || { say -1 && return; }
  if grep -qx 'ISOCENTER_CUDA:STRING=OFF' "$tree/CMakeCache.txt"; then
    say 0
  elif grep -qxF "CMAKE_CUDA_ARCHITECTURES:STRING=$shipped" "$tree/CMakeCache.txt"; then
    say 2
  else
    say 1
  fi
}

wanted=${generations[$cuda]}
[ "$cuda" != used ] || ! has_gpu || wanted=1
settings=()
case $preset:$wanted in
  release:0 | dev:0) settings=(-DISOCENTER_CUDA=OFF) ;;
  release:1 | dev:1)
    architecture=90-real
    ! has_gpu || architecture=native
    settings=(-DISOCENTER_CUDA=AUTO "-DCMAKE_CUDA_ARCHITECTURES=$architecture")
    ;;
  release:2 | dev:2) settings=(-DISOCENTER_CUDA=AUTO "-DCMAKE_CUDA_ARCHITECTURES=$shipped") ;;
  *) wanted=0 ;; # the other presets are without CUDA
esac
# What is compiled for more than is wanted now stays.
if [ "$(configured_for)" -lt "$wanted" ]; then
  logged "Configuring ($preset)" "$tree.configure.log" cmake --preset "$preset" "${settings[@]}" ||
    die 'CMake could not configure' "remove $tree and try again; ./dev setup installs what it looks for"
fi
logged "Building ($preset)" "$tree.build.log" cmake --build "$tree" -j "$jobs" ${rest:+--target "${rest[@]}"} ||
  die 'the build failed' "the whole output: $tree.build.log"
