#!/usr/bin/env bash
# Makes the Debian package of what package.sh laid out: deb.sh TREE VERSION OUT.deb. It has programs and no libraries: those are the
# system's, whose updates, also for security, then reach us.
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

readonly tree=$1 version=$2 out=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
readonly doc=$root/usr/share/doc/isocenter

# The programs find what belongs to them from where they really are, also through the links.
install -d "$root/usr/lib/isocenter" "$root/usr/bin" "$root/etc/isocenter" "$root/lib/systemd/system" "$doc" "$root/DEBIAN"
cp -R "$tree/bin" "$tree/lib" "$tree/share" "$root/usr/lib/isocenter/"
for program in "$tree"/bin/*; do
  ln -s "../lib/isocenter/bin/$(basename "$program")" "$root/usr/bin/$(basename "$program")"
done
install -m 0640 "$tree/deploy/isocenterd.textproto" "$root/etc/isocenter/"
sed 's|/opt/isocenter/bin/|/usr/bin/|; /^# systemd unit/,/^# configuration in/d' deploy/isocenterd.service \
  >"$root/lib/systemd/system/isocenterd.service"
cp README.md deploy/debian/copyright "$tree/sbom.spdx.json" "$doc/"
cp -R "$tree/docs" "$tree/deploy" "$doc/"
rm "$doc/deploy/isocenterd.service"
ln -s ../../../lib/isocenter/share/isocenter/web/docs "$doc/html"
gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
find "$root" -type d -exec chmod 755 {} +
find "$root/usr" "$root/lib" -type f -exec chmod a+rX,go-w {} +

# The packages of all libraries that are linked, with the versions whose symbols are used.
link_with() {
  install -d "$root/debian"
  printf 'Source: isocenter\n\nPackage: isocenter\nArchitecture: any\n' >"$root/debian/control"
  (cd "$root" && dpkg-shlibdeps -O "$root"/usr/lib/isocenter/bin/* "$root"/usr/lib/isocenter/lib/*) | sed 's/^shlibs:Depends=//'
  rm -r "$root/debian"
}
depends=$(link_with)
architecture=$(dpkg --print-architecture)
size=$(du -sk --exclude=DEBIAN "$root" | cut -f 1)
sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@SIZE@/$size/; s/@LIBRARIES@/$depends/" deploy/debian/control.in >"$root/DEBIAN/control"
for script in postinst prerm postrm; do install -m 0755 "deploy/debian/$script" "$root/DEBIAN/"; done
install -m 0644 deploy/debian/templates "$root/DEBIAN/"
printf '/etc/isocenter/isocenterd.textproto\n' >"$root/DEBIAN/conffiles"
(cd "$root" && find usr lib etc -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group -Zxz --build "$root" "$out" >/dev/null
