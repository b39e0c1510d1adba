"""For docs_html.py: paths that a page names and that only who has the sources has, and what is said of them."""

import re

# Folders of the repository that no package has, or has parts of only.
FOLDERS = ("client", "cmake", "deploy", "kernels", "proto", "python", "server", "tests", "tools", "web")
# What of them packages have (tools/dev/package.sh, client/package/CMakeLists.txt), and where.
PACKED = {
    "proto/isocenter": "share/isocenter/proto/isocenter",
    "client/example": "share/isocenter/example",
    **{f"deploy/{name}": f"deploy/{name}" for name in ("haproxy", "prometheus", "grafana", "kubernetes")},
    **{f"deploy/{name}": f"deploy/{name}" for name in ("isocenterd.textproto", "isocenterd.service")},
}
_NAMED = re.compile(rf"(?<![\w./-])(?:\.\./)*((?:{'|'.join(FOLDERS)})/[\w./-]*\w)")
_BUILDS = re.compile(r"\./dev [a-z]+")


def of_sources(text):
    """Of a page's Markdown, in its order, each once."""
    named = [path for path in _NAMED.findall(text) if not any(path == have or path.startswith(have + "/") for have in PACKED)]
    return list(dict.fromkeys(named + _BUILDS.findall(text)))


def note(text):
    """A paragraph for the end of a page that names some; else nothing."""
    found = of_sources(text)
    if not found:
        return ""
    example = next((path for path in found if not path.startswith("./dev")), found[0])
    return (
        f'\n<p class="sources">Of the sources, which packages do not have, are what this page calls <code>{example}</code> and '
        "the like, and <code>./dev</code>; files that it links to are here.</p>"
    )
