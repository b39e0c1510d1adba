#!/usr/bin/python3
"""Writes docs/ as pages for browsers: docs_html.py OUT_DIRECTORY. Debian's own Python, for python3-markdown.

Every node serves them at /docs of its web address, where the links of alerts lead, and the packages have them as files. Links to
what is not documentation (sources, deploy/) become plain text: they lead nowhere in either place.
"""

import html
import json
import os
import pathlib
import re
import shutil
import sys

import markdown

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
# What they find, and the rest of what pages do: one script.
SCRIPTS = [pathlib.Path(__file__).with_name(name) for name in ("docs_search.js", "docs_page.js")]
# A file of its own: the page's Content-Security-Policy allows no other style.
STYLE = """\
:root { color-scheme: light dark; --ground: #fff; --text: #111; --link: #0b57a4; --seen: #5c3a99; }
@media (prefers-color-scheme: dark) { :root { --ground: #121418; --text: #e6e9ed; --link: #8ab8f0; --seen: #c3a6f5; } }
html { background: var(--ground); color: var(--text); }
a { color: var(--link); }
a:visited { color: var(--seen); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 0 auto; padding: 0 1rem 2rem; overflow-wrap: break-word; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; padding: .7rem 0; border-bottom: 1px solid #8886; }
header label { margin-left: auto; }
.anchor { margin-left: .4em; opacity: .35; text-decoration: none; }
:is(h1, h2, h3, h4, h5, h6):hover .anchor, .anchor:focus { opacity: 1; }
.code > button { display: block; margin: .5rem 0 -.8rem auto; font: .8rem system-ui, sans-serif; padding: .15rem .5rem; }
.wide::after { content: "More to the right: push the table aside"; display: block; font-size: .85rem; opacity: .8; }
header input { font: inherit; max-width: 14rem; }
.layout { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 2rem; }
.layout nav { font-size: .9rem; padding-top: 1rem; }
.layout nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
.layout nav a, .layout nav summary, header a { display: inline-block; padding: .15rem 0; }
.layout nav [aria-current] { font-weight: 700; }
.contents { border-left: 3px solid #8886; padding: 0 1rem; font-size: .9rem; }
#found:empty, #number:empty { display: none; }
#number { margin: .5rem 0 0; }
@media (max-width: 800px) { .layout { grid-template-columns: minmax(0, 1fr); gap: 0; } .layout > nav { order: 2; } }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; }
pre { background: #8882; padding: .7rem; overflow-x: auto; }
code { font: .9em ui-monospace, monospace; }
img { max-width: 100%; }
:target { background: #fc04; }
@media print {
:root { color-scheme: light; --ground: #fff; --text: #000; --link: #000; --seen: #000; }
header, .layout > nav, .contents, #found, #number, .anchor, .code > button, .wide::after { display: none; }
.layout { display: block; }
body { max-width: none; font-size: 11pt; padding: 0; }
pre { white-space: pre-wrap; }
table { display: table; }
h1, h2, h3 { break-after: avoid; }
pre, tr, img { break-inside: avoid; }
}
"""
PAGE = """\
<!doctype html>
<html lang="en" data-up="{up}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - Isocenter</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{up}style.css">
<script src="{up}page.js" defer></script>
<header>
<a class="back" hidden>Operator page</a>
<a href="{up}index.html">Documentation</a>
<label>Search <input type="search" id="search"></label>
</header>
<p id="number" role="status"></p>
<ul id="found" aria-label="Found"></ul>
<div class="layout">
<nav aria-label="All pages">
{navigation}
</nav>
<main>
{contents}
{body}
</main>
</div>
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


def title_of(page):
    return re.search(r"(?m)^# (.+)$", page.read_text())[1].replace("`", "")


def name_of(target, text, page):
    """What a link is called: here no page is a file, so one that is called by its file's name gets the title."""
    file = html.unescape(target).partition("#")[0]
    there = pathlib.Path(os.path.normpath(page.parent / file))
    # docs/qa.md, from a page beside it, is called qa.md or docs/qa.md.
    by_file = there.suffix == ".md" and there.is_file() and text and f"/{there}".endswith(f"/{text.partition('#')[0]}")
    return html.escape(title_of(there)) if by_file else text


def plain(text):
    """Of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def navigation(page, pages, up):
    """All pages by folder, this one marked."""
    parts = []
    # Decisions last: they say why, and most come to learn how.
    for folder in sorted({other.parent for other in pages}, key=lambda each: (each == DOCS / "adr", each)):
        name = {"": "Pages", "adr": "Decisions"}.get(str(folder.relative_to(DOCS)).lstrip("."), folder.name.replace("-", " ").capitalize())
        links = [
            f'<li><a href="{up}{output_name(other).relative_to(DOCS)}"{" aria-current=" + chr(34) + "page" + chr(34) if other == page else ""}>'
            f"{html.escape(title_of(other))}</a></li>"
            for other in pages
            if other.parent == folder
        ]
        is_open = " open" if folder != DOCS / "adr" or page.parent == folder else ""
        parts.append(f"<details{is_open}><summary>{html.escape(name)}</summary><ul>{''.join(links)}</ul></details>")
    return "\n".join(parts)


def contents(tokens):
    """The sections of a page, where it has several."""
    sections = [part for title in tokens for section in title["children"] for part in (section, *section["children"])]
    if len(sections) < 3:
        return ""
    links = "".join(f'<li><a href="#{section["id"]}">{section["name"]}</a></li>' for section in sections)
    return f'<nav class="contents" aria-label="On this page"><ul>{links}</ul></nav>'


def sections_of(page, body):
    """What the search looks at: each heading with the text below it."""
    title = plain(title_of(page))
    parts = re.split(r'<h[1-6] id="([^"]*)">(.*?)</h[1-6]>', body, flags=re.S)
    address = str(output_name(page).relative_to(DOCS))
    return [
        {"page": title, "heading": plain(heading), "text": plain(text), "href": f"{address}#{place}"}
        for place, heading, text in zip(parts[1::3], parts[2::3], parts[3::3])
    ]


def linked_heading(found):
    """A heading with a link to itself, to be handed on."""
    level, place, heading = found.groups()
    name = html.escape(f"Link to {plain(heading)}", quote=True)
    return f'<h{level} id="{place}">{heading}<a class="anchor" href="#{place}" aria-label="{name}">#</a></h{level}>'


def render(page, pages):
    """The page, and its sections for the search."""
    text = page.read_text()
    reader = markdown.Markdown(
        extensions=["tables", "fenced_code", "toc"], extension_configs={"toc": {"slugify": anchor}}
    )
    body = reader.convert(text)

    def relink(found):
        target = link_to(html.unescape(found[1]), page)
        return found[2] if target is None else f'<a href="{html.escape(target)}">{name_of(found[1], found[2], page)}</a>'

    body = re.sub(r'<a href="([^"]*)">(.*?)</a>', relink, body, flags=re.S)
    # What is wider than the window is pushed aside: with the keyboard, too.
    body = re.sub(r"<(pre|table)>", r'<\1 tabindex="0">', body)
    found_sections = sections_of(page, body)
    body = re.sub(r'<h([1-6]) id="([^"]*)">(.*?)</h\1>', linked_heading, body, flags=re.S)
    up = "../" * (len(page.relative_to(DOCS).parts) - 1)
    whole = PAGE.format(
        title=html.escape(title_of(page)), up=up, body=body, navigation=navigation(page, pages, up), contents=contents(reader.toc_tokens)
    )
    return whole, found_sections


def main():
    out = pathlib.Path(sys.argv[1])
    pages = sorted(DOCS.rglob("*.md"))
    sections = []
    for source in sorted(DOCS.rglob("*")):
        if not source.is_file():
            continue
        there = out / source.relative_to(DOCS)
        there.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            whole, found = render(source, pages)
            output_name(there).write_text(whole)
            sections += found
        else:
            shutil.copyfile(source, there)
    (out / "style.css").write_text(STYLE)
    (out / "page.js").write_text("".join(script.read_text() for script in SCRIPTS))
    (out / "pages.js").write_text(f"window.isocenterSections = {json.dumps(sections)};\n")


if __name__ == "__main__":
    main()
