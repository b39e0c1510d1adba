#!/usr/bin/python3
"""Writes docs/ as pages for browsers: docs_html.py OUT_DIRECTORY. Debian's own Python, for python3-markdown.

Every node serves them at /docs of its web address, where the links of alerts lead, and the packages have them as files. Links to
what is not documentation (sources, deploy/) become plain text: they lead nowhere in either place.
"""

import html
import os
import pathlib
import re
import shutil
import sys

import markdown

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
# A file of its own: the page's Content-Security-Policy allows no other style.
STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; }
pre { background: #8882; padding: .7rem; overflow-x: auto; }
code { font: .9em ui-monospace, monospace; }
img { max-width: 100%; }
:target { background: #fc04; }
"""
PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - Isocenter</title>
<link rel="stylesheet" href="{up}style.css">
<p><a href="{up}index.html">Documentation</a></p>
{body}
</html>
"""


def anchor(heading, _separator="-"):
    """As GitHub makes them, so that links work in both."""
    return re.sub(r"[^\w -]", "", html.unescape(heading).lower()).replace(" ", "-")


def output_name(source):
    """README.md is the index of its folder."""
    return source.with_name("index.html") if source.name == "README.md" else source.with_suffix(".html")


def link_to(target, page):
    """What a link of `page` becomes; None where it leads out of the documentation."""
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return target
    file, mark, section = target.partition("#")
    there = pathlib.Path(os.path.normpath(page.parent / file))
    if not there.is_relative_to(DOCS) or not there.is_file():
        return None
    return str(output_name(pathlib.Path(file))) + mark + section if there.suffix == ".md" else target


def render(page):
    text = page.read_text()
    body = markdown.markdown(
        text, extensions=["tables", "fenced_code", "toc"], extension_configs={"toc": {"slugify": anchor}}
    )

    def relink(found):
        target = link_to(html.unescape(found[1]), page)
        return found[2] if target is None else f'<a href="{html.escape(target)}">{found[2]}</a>'

    body = re.sub(r'<a href="([^"]*)">(.*?)</a>', relink, body, flags=re.S)
    up = "../" * (len(page.relative_to(DOCS).parts) - 1)
    title = re.search(r"(?m)^# (.+)$", text)[1]
    return PAGE.format(title=html.escape(title), up=up, body=body)


def main():
    out = pathlib.Path(sys.argv[1])
    for source in sorted(DOCS.rglob("*")):
        if not source.is_file():
            continue
        there = out / source.relative_to(DOCS)
        there.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            output_name(there).write_text(render(source))
        else:
            shutil.copyfile(source, there)
    (out / "style.css").write_text(STYLE)


if __name__ == "__main__":
    main()
