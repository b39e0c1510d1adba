#!/bin/sh
# The packages of the image in which this runs, as SPDX 2.3 in JSON: image_sbom.sh VERSION. Needs nothing but dpkg-query.
# (The libraries that come with Isocenter itself are in sbom.spdx.json, which sbom.py makes.)
set -eu
version=$1

# Names and versions of Debian packages hold no character that JSON would have escaped.
packages() {
  # shellcheck disable=SC2016
  dpkg-query -W -f '${db:Status-Status} {"SPDXID":"SPDXRef-${Package}-${Architecture}","name":"${Package}","versionInfo":"${Version}","downloadLocation":"NOASSERTION","filesAnalyzed":false,"licenseConcluded":"NOASSERTION","licenseDeclared":"NOASSERTION","copyrightText":"NOASSERTION","sourceInfo":"source package ${source:Package} ${source:Version}","externalRefs":[{"referenceCategory":"PACKAGE-MANAGER","referenceType":"purl","referenceLocator":"pkg:deb/${Package}@${Version}?arch=${Architecture}"}]}\n' |
    sed -n 's/^installed //p' |
    sed -E ':a; s/("SPDXID":"[^"]*)[^"A-Za-z0-9.-]([^"]*")/\1-\2/; ta'
}

list=$(packages)
digest=$(printf '%s' "$list" | sha256sum | cut -c 1-32)
cat <<TEXT
{"spdxVersion":"SPDX-2.3","dataLicense":"CC0-1.0","SPDXID":"SPDXRef-DOCUMENT","name":"isocenter-image-$version",
"documentNamespace":"https://spdx.org/spdxdocs/isocenter-image-$version-$digest",
"creationInfo":{"created":"1970-01-01T00:00:00Z","creators":["Tool: isocenter-image-sbom"]},
"packages":[
$(printf '%s' "$list" | sed '$!s/$/,/')
],
"documentDescribes":[
$(printf '%s' "$list" | sed -E 's/.*"SPDXID":"([^"]*)".*/"\1"/; $!s/$/,/')
]}
TEXT
