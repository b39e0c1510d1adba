#!/usr/bin/python3
"""Writes docs/ as pages for browsers: docs_html.py OUT_DIRECTORY. Debian's own Python, for python3-markdown.

Every node serves them at /docs of its web address, where the links of alerts lead, and the packages have them as files. What pages
link to besides (messages, headers, examples, deploy/) comes along in files/: to be read there as a page, and as it is.
"""

import html
import json
import os
import pathlib
import re
import shutil
import sys

import markdown

import docs_files
import source_paths

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# The server makes it the way from the address that was asked for to the documentation (server/http/page.cc).
WAY_UP = "WAY-UP/"
# What they find, and the rest of what pages do: one script.
SCRIPTS = [pathlib.Path(__file__).with_name(name) for name in ("docs_search.js", "docs_page.js")]
# Cells of a table that have as many characters are read, not looked up.
SENTENCE = 45
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
.skip { position: absolute; left: -999rem; }
.skip:focus { left: .5rem; top: .5rem; background: var(--ground); padding: .5rem; }
.to-pages { display: none !important; }
.code > button { display: block; margin: .5rem 0 -.8rem auto; font: .8rem system-ui, sans-serif; padding: .15rem .5rem; }
/* A shadow at each side on which there is more, which the ends of the table cover. */
.table { overflow-x: auto; margin: 1rem 0; background:
  linear-gradient(to right, Canvas 40%, transparent) left / 2rem 100% no-repeat local, linear-gradient(to left, Canvas 40%, transparent) right / 2rem 100% no-repeat local,
  linear-gradient(to right, #8888, transparent) left / .7rem 100% no-repeat scroll, linear-gradient(to left, #8888, transparent) right / .7rem 100% no-repeat scroll; }
.wide + .more { display: block; font-size: .85rem; opacity: .8; margin: -.8rem 0 1rem; }
.more { display: none; }
header input { font: inherit; max-width: 14rem; }
.layout { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 2rem; }
.layout nav { font-size: .9rem; padding-top: 1rem; }
.layout nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
.layout nav a, .layout nav summary, .contents summary, header a { display: inline-block; padding: .15rem 0; }
.contents summary { cursor: pointer; }
.layout nav [aria-current] { font-weight: 700; }
.contents { border-left: 3px solid #8886; padding: 0 1rem; font-size: .9rem; margin: 1rem 0; }
.contents ul { list-style: none; margin: 0; padding: 0; columns: 16rem; }
#docs-found:empty, #docs-number:empty { display: none; }
#docs-number { margin: .5rem 0 0; }
@media (max-width: 800px) {
.layout { grid-template-columns: minmax(0, 1fr); gap: 0; }
.layout > nav { order: 2; border-top: 1px solid #8886; }
.to-pages { display: inline-flex !important; }
header { gap: 0 1.5rem; }
header label { flex: 1 1 100%; display: flex; align-items: center; gap: .5rem; margin: 0; }
header input { flex: 1; min-width: 0; max-width: none; min-height: 44px; }
/* Fingers need room. */
header a, .layout nav a, .layout nav summary, #docs-found a { display: flex; align-items: center; min-height: 44px; padding: 0; }
.layout nav summary { display: list-item; padding: .6rem 0; }
.code > button { min-height: 44px; min-width: 44px; margin-bottom: -.4rem; }
.anchor { padding: .6rem; margin: -.6rem 0; }
.table.prose :is(table, tbody, tr, td) { display: block; }
.table.prose { overflow: visible; background: none; }
.prose thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
.prose tr { border-top: 1px solid #8886; padding: .5rem 0; }
.prose td { border: 0; padding: .1rem 0; overflow-wrap: anywhere; }
.prose td:first-child { font-weight: 600; }
.prose td:empty { display: none; }
.prose td:not(:first-child)::before { content: attr(data-label) ": "; font-size: .85rem; opacity: .8; }
h1 { font-size: 1.6rem; }
}
table { border-collapse: collapse; }
th, td { border: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; }
pre { background: #8882; padding: .7rem; overflow-x: auto; }
code { font: .9em ui-monospace, monospace; }
img { max-width: 100%; }
:target { background: #fc04; }
@media print {
:root { color-scheme: light; --ground: #fff; --text: #000; --link: #000; --seen: #000; }
header, .layout > nav, .contents, #docs-found, #docs-number, .anchor, .code > button, .more { display: none !important; }
.layout { display: block; }
body { max-width: none; font-size: 11pt; padding: 0; }
pre { white-space: pre-wrap; }
.table { overflow: visible; }
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
<a class="skip" href="#the-text">To the text</a>
<header>
<a class="back" hidden>Operator page</a>
<a href="{up}index.html">Documentation</a>
<a class="to-pages" href="#all-pages">All pages</a>
<label>Search <input type="search" id="docs-search"></label>
</header>
<section aria-label="What the search found">
<p id="docs-number" role="status"></p>
<ul id="docs-found" aria-label="Found"></ul>
</section>
<div class="layout">
<nav id="all-pages" aria-label="All pages">
{navigation}
</nav>
<main id="the-text" tabindex="-1">
{body}
</main>
</div>
</html>
"""


NOT_FOUND = """\
<h1>There is no such page</h1>
<p>Nothing is at <code id="missing">this address</code>. It may have been typed wrong, or be of another version of Isocenter.</p>
<p>The search above looks through all pages, the list of all pages has them by their titles, and the
<a href="WAY-UP/index.html">documentation’s first page</a> leads to where most begin. From a message to its cure:
<a href="WAY-UP/troubleshooting.html">troubleshooting</a>.</p>"""


def anchor(heading, _separator="-"):
    """As GitHub makes them, so that links work in both."""
    return re.sub(r"[^\w -]", "", html.unescape(heading).lower()).replace(" ", "-")


def place_of(file):
    """Where a file of the repository is among the pages; README.md is the index of its folder, which a folder has, too."""
    there = pathlib.Path(file).relative_to(DOCS) if file.is_relative_to(DOCS) else pathlib.Path("files") / file.relative_to(ROOT)
    if file.is_dir() or file.name == "README.md":
        return (there if file.is_dir() else there.parent) / "index.html"
    if file.suffix == ".md":
        return there.with_suffix(".html")
    return there if file.is_relative_to(DOCS) else there.with_name(there.name + ".html")


def from_(page):
    """The folder that links of `page` begin in."""
    return page if page.is_dir() else page.parent


def target_of(href, page):
    """The file or folder that a link of `page` leads to; None where it leads elsewhere."""
    if re.match(r"[a-z]+:", href) or href.startswith("#"):
        return None
    there = pathlib.Path(os.path.normpath(from_(page) / href.partition("#")[0]))
    if not there.exists() or not there.is_relative_to(ROOT):
        raise SystemExit(f"{page}: nothing is at {href}")
    return there


def link_to(href, page):
    """What a link of `page` becomes."""
    there = target_of(href, page)
    if there is None:
        return href
    _, mark, section = href.partition("#")
    return os.path.relpath(place_of(there), place_of(page).parent) + mark + section


def title_of(page):
    if page == DOCS / "adr":
        return "Decisions"
    if page.suffix != ".md":
        return str(page.relative_to(ROOT)) + ("/" if page.is_dir() else "")
    return re.search(r"(?m)^# (.+)$", page.read_text())[1].replace("`", "")


def name_of(target, text, page):
    """What a link is called: here no page is a file, so one that is called by its file's name gets the title."""
    file = html.unescape(target).partition("#")[0]
    there = pathlib.Path(os.path.normpath(from_(page) / file))
    # docs/qa.md, from a page beside it, is called qa.md or docs/qa.md.
    by_file = there.suffix == ".md" and there.is_file() and text and f"/{there}".endswith(f"/{text.partition('#')[0].lstrip('./')}")
    return html.escape(title_of(there)) if by_file else text


def plain(text):
    """Of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def reading_order(listing):
    """The pages of docs/ in the order in which README.md links to them, and within a folder its README.md; each once."""
    found = {listing: None}
    for target in re.findall(r"\]\(([^)#]+)", listing.read_text()):
        there = (listing.parent / target).resolve()
        there = there / "README.md" if there.is_dir() else there
        if DOCS in there.parents and there.suffix == ".md" and there.is_file() and there not in found:
            found |= dict.fromkeys(reading_order(there)) if there.name == "README.md" else {there: None}
    return list(found)


def navigation(page, pages, up):
    """All pages by folder, this one marked, in reading order; what README.md does not name comes last. Decisions, of which there are
    many, by the page that lists them: they say why, and most come to learn how."""
    decisions = DOCS / "adr"
    parts = []
    order = {other: place for place, other in enumerate(reading_order(DOCS / "README.md"))}
    pages = sorted(pages, key=lambda other: (order.get(other, len(order)), other))
    listing = DOCS / "README.md"
    for folder in dict.fromkeys(other.parent for other in pages if other.parent != decisions and other != listing):
        name = "Pages" if folder == DOCS else folder.name.replace("-", " ").capitalize()
        links = [
            f'<li><a href="{up}{place_of(other)}"{" aria-current=" + chr(34) + "page" + chr(34) if other == page else ""}>'
            f"{html.escape(title_of(other))}</a></li>"
            for other in pages
            if other.parent == folder
        ]
        parts.append(f"<details open><summary>{html.escape(name)}</summary><ul>{''.join(links)}</ul></details>")
    current = ' aria-current="page"' if page == decisions else ""
    parts.append(f'<p><a href="{up}{place_of(decisions)}"{current}>Decisions</a></p>')
    return "\n".join(parts)


def contents(tokens):
    """The sections of a page, where it has several."""
    sections = [part for title in tokens for section in title["children"] for part in (section, *section["children"])]
    if len(sections) < 3:
        return ""
    links = "".join(f'<li><a href="#{section["id"]}">{section["name"]}</a></li>' for section in sections)
    return f'<nav class="contents" aria-label="On this page"><details open><summary>On this page</summary><ul>{links}</ul></details></nav>'


def sections_of(page, body):
    """What the search looks at: each heading with the text below it."""
    title = plain(title_of(page))
    parts = re.split(r'<h[1-6] id="([^"]*)">(.*?)</h[1-6]>', body, flags=re.S)
    address = str(place_of(page))
    return [
        {"page": title, "heading": plain(heading), "text": plain(text), "href": f"{address}#{place}"}
        for place, heading, text in zip(parts[1::3], parts[2::3], parts[3::3])
    ]


def table_of(found):
    """A table that is pushed aside within itself where it is wider than the window. Where its cells are sentences, a telephone shows
    each row as lines, with what the heads of the columns say before each: so cells know it, and what they are."""
    table = found[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, flags=re.S)
    heads = [" ".join(html.unescape(re.sub("<[^>]+>", "", head)).split()) for head in re.findall(r"<th[^>]*>(.*?)</th>", rows[0], flags=re.S)]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, flags=re.S) for row in rows[1:]]
    if not any(len(plain(cell)) >= SENTENCE for row in cells for cell in row):
        return f'<div class="table">{without_empty_heads(table)}</div>'
    columns = iter(html.escape(head, quote=True) for _ in cells for head in heads)
    table = re.sub(r"<td", lambda _: f'<td role="cell" data-label="{next(columns)}"', table)
    for tag, role in (("table", "table"), ("thead", "rowgroup"), ("tbody", "rowgroup"), ("tr", "row"), ("th", "columnheader")):
        table = re.sub(rf"<{tag}(?=[ >])", f'<{tag} role="{role}"', table)
    return f'<div class="table prose">{without_empty_heads(table)}</div>'


def without_empty_heads(table):
    """The corner of a table whose rows have names is a cell: a head says something."""
    return table.replace('<th role="columnheader"></th>', '<td role="cell"></td>').replace("<th></th>", "<td></td>")


def linked_heading(found):
    """A heading with a link to itself, to be handed on."""
    level, place, heading = found.groups()
    name = html.escape(f"Link to {plain(heading)}", quote=True)
    return f'<h{level} id="{place}">{heading}<a class="anchor" href="#{place}" aria-label="{name}">#</a></h{level}>'


def render(page, pages):
    """The page, its sections for the search, and the files outside docs/ that it links to."""
    reader = markdown.Markdown(
        extensions=["tables", "fenced_code", "toc"], extension_configs={"toc": {"slugify": anchor}}
    )
    body = reader.convert(page.read_text() if page.suffix == ".md" else docs_files.as_markdown(page, title_of(page)))
    linked = set()

    def relink(found):
        href = html.unescape(found[1])
        there = target_of(href, page)
        if there is not None and not there.is_relative_to(DOCS):
            linked.add(there)
        return f'<a href="{html.escape(link_to(href, page))}">{name_of(found[1], found[2], page)}</a>'

    body = re.sub(r'<a href="([^"]*)">(.*?)</a>', relink, body, flags=re.S)
    body = re.sub(r"<table>.*?</table>", table_of, body, flags=re.S)
    found_sections = sections_of(page, body)
    body = re.sub(r'<h([1-6]) id="([^"]*)">(.*?)</h\1>', linked_heading, body, flags=re.S)
    if page.is_file() and not page.is_relative_to(DOCS) and page.suffix != ".md":
        body = docs_files.with_download(page, body)
    if page.is_file() and page.is_relative_to(DOCS):
        body += source_paths.note(page.read_text())
    # Below the title, so that a telephone shows first which page this is.
    body = re.sub(r"(?<=</h1>)", lambda _: "\n" + contents(reader.toc_tokens), body, count=1)
    up = "../" * (len(place_of(page).parts) - 1)
    return filled(title_of(page), up, body, page, pages), found_sections, linked


def filled(title, up, body, page, pages):
    return PAGE.format(title=html.escape(title), up=up, body=body, navigation=navigation(page, pages, up))


def write(out, place, text):
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    (out / place).write_text(text)


def write_files(out, pages, wanted):
    """What pages link to outside docs/, and what that links to; of folders all that is in them."""
    done = set()
    while wanted:
        file = wanted.pop()
        if file in done:
            continue
        done.add(file)
        whole, _, linked = render(file, pages)
        write(out, place_of(file), whole)
        wanted |= linked
        if file.is_file() and file.suffix != ".md":
            shutil.copyfile(file, out / "files" / file.relative_to(ROOT))


def main():
    out = pathlib.Path(sys.argv[1])
    pages = sorted(DOCS.rglob("*.md"))
    folders = sorted({page.parent for page in pages if not (page.parent / "README.md").exists()})
    sections, wanted = [], set()
    for page in (*pages, *folders):
        whole, found, linked = render(page, pages)
        write(out, place_of(page), whole)
        sections += found if page.is_file() else []
        wanted |= linked
    for source in sorted(DOCS.rglob("*")):
        if source.is_file() and source.suffix != ".md":
            (out / place_of(source)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, out / place_of(source))
    write_files(out, pages, wanted)
    write(out, "not-found.html", filled("No such page", WAY_UP, NOT_FOUND, None, pages))
    (out / "style.css").write_text(STYLE)
    (out / "page.js").write_text("".join(script.read_text() for script in SCRIPTS))
    (out / "pages.js").write_text(f"window.isocenterSections = {json.dumps(sections)};\n")


if __name__ == "__main__":
    main()
