#!/usr/bin/env bash
# Makes three packages in dist/. isocenter_VERSION_ARCH.deb links the libraries of the system that it is built on, and depends on their
# packages; `./dev test --packages` installs it. isocenter-dev_VERSION_ARCH.deb is the console library for programs of others. isocenter-VERSION-ARCH.tar.gz brings copies of them along and runs wherever it is
# unpacked on a Linux with glibc 2.36 or newer; this unpacks it and runs what came out (docs/adr/0038-hardened-programs-and-the-systems-libraries.md).
set -euo pipefail
# shellcheck source=tools/dev/common.sh
source tools/dev/common.sh

readonly programs=(isocenterd isocenter isocenter-bench)
# The plug-in for the runner of the RabbitCT benchmark; it lies among its libraries.
readonly module=libisocenter_rabbitct.so
# glibc and what must fit the kernel and the drivers of the machine stay out.
readonly left_out='^(ld-linux.*|libc|libm|libmvec|libdl|librt|libpthread|libresolv|libnss_.*|libanl|libutil|libcuda|libnvidia.*)\.so'

tools/dev/setup.sh build packaging
tools/dev/build.sh --preset release --cuda shipped "${programs[@]}" isocenter_rabbitct isocenter_client

version=$(sed -nE 's/^project\(isocenter VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
name=isocenter-$version-$(uname -m)
tree=dist/$name
rm -rf "$tree" "$tree.tar.gz"
mkdir -p "$tree/bin" "$tree/lib" "$tree/share/isocenter"
deb=dist/isocenter_${version}_$(dpkg --print-architecture).deb
dev_deb=dist/isocenter-dev_${version}_$(dpkg --print-architecture).deb

for program in "${programs[@]}"; do cp "build/release/bin/$program" "$tree/bin/"; done
cp "build/release/lib/$module" "$tree/lib/"
strip --strip-unneeded "$tree"/bin/* "$tree"/lib/*
for file in "${programs[@]/#/build/release/bin/}" "build/release/lib/$module"; do
  ldd "$file" | awk '$3 ~ /^\// {print $3}'
done | sort -u >dist/libraries.txt
taken=()
while read -r library; do
  [[ $(basename "$library") =~ $left_out ]] || taken+=("$library")
done <dist/libraries.txt
rm dist/libraries.txt
tools/dev/sbom.py "$version" "${taken[@]}" >"$tree/sbom.spdx.json"

cp LICENSE README.md "$tree/"
# The operator page: built where npm is, else the one that somebody put into web/dist.
if command -v npm >/dev/null; then tools/dev/page.sh; fi
if [ -e web/dist/index.html ]; then
  cp -r web/dist "$tree/share/isocenter/web"
else
  warn 'the package has no operator page: install npm (./dev setup page), or copy a built web/dist here'
fi
# The documentation as pages, which the node serves at /docs, and as it is.
tools/dev/docs_html.py "$tree/share/isocenter/web/docs"
cp -r docs "$tree/"
mkdir "$tree/deploy"
cp deploy/isocenterd.textproto deploy/isocenterd.service "$tree/deploy/"
cp -r deploy/haproxy deploy/prometheus deploy/grafana deploy/kubernetes "$tree/deploy/"
tools/dev/deb.sh "$tree" "$version" "$deb"
tools/dev/deb_dev.sh build/release "$version" "$dev_deb"

# What the system has comes along in the archive only.
for library in "${taken[@]}"; do
  cp -L "$library" "$tree/lib/"
  strip --strip-unneeded "$tree/lib/$(basename "$library")"
done
for file in "$tree"/bin/*; do
  # The old kind of run path also reaches the libraries' own libraries.
  patchelf --force-rpath --set-rpath "\$ORIGIN/../lib" "$file"
done
for file in "$tree"/lib/*; do patchelf --force-rpath --set-rpath "\$ORIGIN" "$file"; done
# The console library; it needs the system's headers of gRPC, Protobuf, Abseil and ISA-L.
cmake --install build/release --component client --prefix "$tree" >/dev/null
strip --strip-debug "$tree"/lib/*.a
dictionary=$(find /usr/share -path '*dcmtk*/dicom.dic' | head -n 1)
[ -n "$dictionary" ] || die 'dicom.dic was not found under /usr/share' 'install it with: ./dev setup (package libdcmtk17)'
cp "$dictionary" "$tree/share/isocenter/"
tar --sort=name --owner=0 --group=0 --numeric-owner -C dist -czf "$tree.tar.gz" "$name"
rm -rf "$tree"

# The smoke test: unpacked elsewhere, with nothing of the build or of the loader's settings in reach.
try=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; rm -rf "$try"' EXIT
tar -C "$try" -xzf "$tree.tar.gz"
clean=(env -i PATH=/usr/bin:/bin "HOME=$try" LD_LIBRARY_PATH=)
for program in "${programs[@]}"; do
  "${clean[@]}" "$try/$name/bin/$program" --help >/dev/null || die "$program of the package does not start"
done
"${clean[@]}" python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1]).RCTLoadAlgorithm' "$try/$name/lib/$module" ||
  die "$module of the package cannot be loaded"
for file in "${programs[@]/#/bin/}" "lib/$module"; do
  if "${clean[@]}" ldd "$try/$name/$file" | grep -v "$try" | awk '$3 ~ /^\// {print $1}' | grep -Ev "$left_out"; then
    die "$file of the package uses these libraries of the system"
  fi
done
"${clean[@]}" tools/lab/private_net.sh "$try/$name/bin/isocenterd" --archive "$try/archive" >"$try/log" 2>&1 &
daemon=$!
for _ in $(seq 100); do
  ! grep -q '^ready' "$try/log" || break
  kill -0 "$daemon" 2>/dev/null || break
  sleep 0.1
done
grep -q '^ready' "$try/log" || die "isocenterd of the package does not serve: $(tail -n 5 "$try/log")"
kill -TERM "$daemon"
wait "$daemon" || die "isocenterd of the package did not end well: $(tail -n 5 "$try/log")"
daemon=
say "$tree.tar.gz: $(du -h "$tree.tar.gz" | cut -f 1), runs where it is unpacked"
say "$deb: $(du -h "$deb" | cut -f 1)"
say "$dev_deb: $(du -h "$dev_deb" | cut -f 1)"
