#!/usr/bin/env bash
# Makes the wheel of the Python package in dist/: pure Python, for the distribution's python3 with python3-grpcio, python3-protobuf and
# python3-numpy.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

tools/dev/setup.sh build packaging
tools/dev/build.sh --preset release python_package
rm -f dist/isocenter-*.whl
tools/dev/wheel.sh build/release/python dist
wheel=$(find dist -name 'isocenter-*.whl')
say "$wheel: $(du -h "$wheel" | cut -f 1); pip install --no-index --no-deps $wheel"
