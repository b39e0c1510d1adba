#!/usr/bin/env python3
"""What software is in a package: SPDX 2.3 in JSON, from dpkg's own records.

sbom.py VERSION FILE..: the Debian packages of the shared libraries that are given with their paths on this system.
"""

import hashlib
import json
import pathlib
import subprocess
import sys

_FIELDS = ("Package", "Version", "Architecture", "Homepage", "source:Package", "source:Version")


def installed(names):
    """The fields of installed packages."""
    form = "\t".join(f"${{{field}}}" for field in _FIELDS) + "\t${db:Status-Status}\n"
    text = subprocess.run(["dpkg-query", "-W", "-f", form, *names], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(_FIELDS, row)) for row in rows if row[-1] == "installed"]


def owner(file):
    """The package that a file came with. A library may be known to dpkg by its name before /usr was merged."""
    path = pathlib.Path(file).resolve()
    for name in (path, str(path).removeprefix("/usr"), f"/usr{path}"):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(": ")[0].split(", ")[0]
    sys.exit(f"sbom.py: no package has {file}")


def identifier(name):
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in name)


def package(fields):
    name, version = fields["Package"], fields["Version"]
    return {
        "SPDXID": identifier(f"{name}-{fields['Architecture']}"),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"Debian source package {fields['source:Package']} {fields['source:Version']}",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}",
            }
        ],
    }


def document(version, packages):
    own = {
        "SPDXID": "SPDXRef-isocenter",
        "name": "isocenter",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
    }
    contents = [package(p) for p in sorted(packages, key=lambda p: (p["Package"], p["Architecture"]))]
    # No time of day: the same contents give the same document.
    digest = hashlib.sha256(json.dumps(contents).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"isocenter-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/isocenter-{version}-{digest[:32]}",
        "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: isocenter-sbom"]},
        "packages": [own, *contents],
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": "SPDXRef-isocenter",
            },
            *(
                {
                    "spdxElementId": "SPDXRef-isocenter",
                    "relationshipType": "CONTAINS",
                    "relatedSpdxElement": p["SPDXID"],
                }
                for p in contents
            ),
        ],
    }


def main():
    version, *files = sys.argv[1:]
    names = sorted({owner(file) for file in files})
    json.dump(document(version, installed(names)), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
