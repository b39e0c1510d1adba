#!/usr/bin/env bash
# Makes a wheel of a staged Python package: wheel.sh STAGED OUT. The distribution's setuptools, without a network.
set -euo pipefail
[ $# -eq 2 ] || {
  printf 'usage: wheel.sh STAGED OUT\n' >&2
  exit 2
}
# setuptools writes beside what it packs.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$1"/isocenter* "$1/pyproject.toml" "$work/"
[ ! -e "$1/setup.py" ] || cp "$1/setup.py" "$work/"
find "$work" -name __pycache__ -prune -exec rm -rf {} +
mkdir -p "$2"
/usr/bin/python3 -m pip --quiet --disable-pip-version-check --no-cache-dir wheel --no-index --no-deps --no-build-isolation \
  --wheel-dir "$2" "$work"
