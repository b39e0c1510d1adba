#!/usr/bin/env bash
# Makes the Debian package python3-isocenter of what the build staged: deb_python.sh BUILD VERSION OUT.deb. The library of isocenter.local
# is in it, and links the system's (docs/adr/0038-hardened-programs-and-the-systems-libraries.md).
set -euo pipefail
[ $# -eq 3 ] || {
  printf 'usage: deb_python.sh BUILD VERSION OUT.deb\n' >&2
  exit 2
}
readonly build=$1 version=$2 out=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
readonly packages=$root/usr/lib/python3/dist-packages doc=$root/usr/share/doc/python3-isocenter
install -d "$packages" "$doc/examples" "$root/DEBIAN" "$root/debian"

cp -r "$build/python/isocenter" "$build/python-kernels/isocenter_kernels" "$packages/"
find "$packages" -name __pycache__ -prune -exec rm -rf {} +
rm "$packages"/*/LICENSE
strip --strip-unneeded "$packages/isocenter_kernels/libisocenter_kernels.so"
cp docs/python.md deploy/debian/copyright "$doc/"
cp -r python/examples/. "$doc/examples/"
gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
# What pip and importlib.metadata ask for.
readonly info=$packages/isocenter-$version.egg-info
printf 'Metadata-Version: 2.1\nName: isocenter\nVersion: %s\n' "$version" >"$info"
printf 'Metadata-Version: 2.1\nName: isocenter-kernels\nVersion: %s\n' "$version" >"$packages/isocenter_kernels-$version.egg-info"

printf 'Source: isocenter\n\nPackage: python3-isocenter\nArchitecture: any\n' >"$root/debian/control"
depends=$(cd "$root" && dpkg-shlibdeps -O usr/lib/python3/dist-packages/isocenter_kernels/libisocenter_kernels.so |
  sed 's/^shlibs:Depends=//')
rm -r "$root/debian"
find "$root" -type d -exec chmod 755 {} +
find "$root/usr" -type f -exec chmod 644 {} +
size=$(du -sk --exclude=DEBIAN "$root" | cut -f 1)
sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$(dpkg --print-architecture)/; s/@SIZE@/$size/; s/@LIBRARIES@/$depends/" \
  deploy/debian/python/control.in >"$root/DEBIAN/control"
for script in postinst prerm; do install -m 0755 "deploy/debian/python/$script" "$root/DEBIAN/"; done
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
mkdir -p "$(dirname "$out")"
dpkg-deb --root-owner-group -Zxz --build "$root" "$out" >/dev/null
