#!/usr/bin/env bash
# Makes the Debian package isocenter-dev: deb_dev.sh BUILD VERSION OUT.deb. The console library for programs of others, of a build that has
# its target isocenter_client: headers, archive, CMake package, the contract and an example.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

readonly build=$1 version=$2 out=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

cmake --install "$build" --component client --prefix "$root/usr" >/dev/null
install -d "$root/usr/share/doc/isocenter-dev" "$root/DEBIAN"
cp deploy/debian/copyright "$root/usr/share/doc/isocenter-dev/"
gzip -9n <CHANGELOG.md >"$root/usr/share/doc/isocenter-dev/changelog.gz"
strip --strip-debug "$root"/usr/lib/*.a
find "$root" -type d -exec chmod 755 {} +
find "$root/usr" -type f -exec chmod a+rX,go-w {} +
size=$(du -sk --exclude=DEBIAN "$root" | cut -f 1)
sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$(dpkg --print-architecture)/; s/@SIZE@/$size/" deploy/debian/control-dev.in >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group -Zxz --build "$root" "$out" >/dev/null
