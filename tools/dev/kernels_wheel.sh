#!/usr/bin/env bash
# Makes the wheel of libisocenter_kernels.so: kernels_wheel.sh STAGED VERSION OUT. It brings along the libraries that it links, so that it
# works wherever glibc 2.36 or newer and libstdc++ are; what is in them says its sbom.spdx.json (docs/adr/0081-a-c-interface-of-the-kernels.md).
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh
[ $# -eq 3 ] || die 'usage: kernels_wheel.sh STAGED VERSION OUT'

# Those of every system with a Python, which extensions of others link, too.
readonly left_out='^(ld-linux.*|libc|libm|libmvec|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libcuda|libnvidia.*)\.so'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$1"/. "$work/"
readonly package=$work/isocenter_kernels
library=$package/libisocenter_kernels.so

ldd "$library" | awk '$3 ~ /^\// {print $3}' | sort -u >"$work/libraries"
taken=()
while read -r file; do
  [[ $(basename "$file") =~ $left_out ]] || taken+=("$file")
done <"$work/libraries"
rm "$work/libraries"
for file in "${taken[@]}"; do cp -L "$file" "$package/"; done
tools/dev/sbom.py "$2" "${taken[@]}" >"$package/sbom.spdx.json"
strip --strip-unneeded "$package"/*.so*
# The old kind of run path also reaches the libraries' own libraries.
for file in "$package"/*.so*; do patchelf --force-rpath --set-rpath "\$ORIGIN" "$file"; done
tools/dev/wheel.sh "$work" "$3"
