#!/usr/bin/env bash
# Makes wheels in dist/ for the distribution's python3: the Python package, pure Python; with --kernels the library of
# isocenter.local, too, for the GPUs that the package serves where nvcc is; with --deb both as the Debian package python3-isocenter.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

kernels='' deb=''
for option in "$@"; do
  case $option in
    --kernels) kernels=1 ;;
    --deb) deb=1 ;;
    *) die "python: no option \"$option\"" 'there are: --kernels --deb' ;;
  esac
done
tools/dev/setup.sh build packaging
version=$(sed -nE 's/^project\(isocenter VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
if [ -n "$kernels$deb" ]; then
  tools/dev/build.sh --preset release --cuda shipped python_package python_kernels
else
  tools/dev/build.sh --preset release python_package
fi
rm -f dist/isocenter-*.whl dist/isocenter_kernels-*.whl
tools/dev/wheel.sh build/release/python dist
if [ -n "$kernels" ]; then tools/dev/kernels_wheel.sh build/release/python-kernels "$version" dist; fi
find dist -name '*.whl' | sort | while read -r wheel; do
  say "$wheel: $(du -h "$wheel" | cut -f 1); pip install --no-index --no-deps $wheel"
done
if [ -n "$deb" ]; then
  out=dist/python3-isocenter_${version}_$(dpkg --print-architecture).deb
  tools/dev/deb_python.sh build/release "$version" "$out"
  say "$out: $(du -h "$out" | cut -f 1); apt install ./$out"
fi
