"""The documentation as pages: every link leads somewhere, also those of the alerts."""

import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support

DOCS = support.ROOT / "docs"
sys.path.insert(0, str(support.ROOT / "tools/dev"))
import source_paths  # noqa: E402

MADE = ("web/dist",)  # by a build
RULES = support.ROOT / "deploy/prometheus/alerts.rules.yml"


class DocsHtmlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        done = subprocess.run(
            [support.ROOT / "tools/dev/docs_html.py", cls.folder], capture_output=True, text=True, check=False
        )
        if "No module named 'markdown'" in done.stderr:
            raise unittest.SkipTest("python3-markdown is not installed")
        assert done.returncode == 0, done.stderr

    def must_lead_somewhere(self, page, target):
        file, _, section = target.partition("#")
        there = pathlib.Path(os.path.normpath(page.parent / file)) if file else page
        self.assertTrue(there.is_file(), f"{page.name}: {target}")
        if section:
            self.assertIn(f'id="{section}"', there.read_text(), f"{page.name}: {target}")

    def test_links(self):
        count = 0
        for page in self.folder.rglob("*.html"):
            for target in re.findall(r'(?:href|src)="([^"]*)"', page.read_text()):
                if not re.match(r"[a-z]+:", target):
                    count += 1
                    # Shown at any address, from which the server makes the way (server/http/page.cc).
                    self.must_lead_somewhere(page, target.removeprefix("WAY-UP/"))
        self.assertGreater(count, 2000)

    def test_navigation_is_in_reading_order(self):
        """Which is that of docs/README.md: a new page is listed there, or comes last."""
        listed = re.findall(r"^\| \[[^\]]*\]\(([\w/-]+)\.md\)", (DOCS / "README.md").read_text(), re.MULTILINE)
        self.assertGreater(len(listed), 40)
        page = (self.folder / "glossary.html").read_text().partition("<nav id=")[2].partition("</nav>")[0]
        shown = [target.removesuffix(".html") for target in re.findall(r'<li><a href="([^"]+)"', page)]
        self.assertEqual(shown[0], "user-guide/console")
        for folder in ("user-guide", "."):
            wanted = [name for name in listed if os.path.dirname(name) == folder.strip(".")]
            given = [name for name in shown if name in wanted]
            self.assertEqual(given, wanted)

    def test_cells_of_sentences_know_their_columns(self):
        """So that a telephone can show a row as lines; what is looked up stays a table."""
        page = (self.folder / "user-guide/operator-page.html").read_text()
        self.assertIn('<td role="cell" data-label="operators may">cancel, download', page)
        self.assertRegex(page, r'<td role="cell" data-label="page">Overview</td>\n<td role="cell" data-label="shows">rooms, active jobs')
        for page in self.folder.rglob("*.html"):
            for table in re.findall(r'<div class="table prose">(.*?)</div>', page.read_text(), re.S):
                heads = [re.sub("<[^>]+>", "", head) for head in re.findall(r'<(?:th role="columnheader"|td role="cell"(?! data-label))[^>]*>(.*?)</t[hd]>', table, re.S)]
                for row in re.findall(r'<tr role="row">(.*?)</tr>', table, re.S)[1:]:
                    labels = [html.unescape(label) for label in re.findall(r'<td role="cell" data-label="([^"]*)"', row)]
                    self.assertEqual([" ".join(html.unescape(head).split()) for head in heads], labels, page)
            self.assertNotRegex(page.read_text(), "<th[^>]*></th>", page)
        self.assertNotIn("prose", (self.folder / "rabbitct.html").read_text().partition("<h2")[0])

    def test_a_path_is_there_or_is_said_to_be_of_the_sources(self):
        """Of an installed node somebody looks for what a page names: packages have it, or the page says that they do not."""
        named = 0
        for source in DOCS.rglob("*.md"):
            page = self.folder / source.relative_to(DOCS).with_name(source.name.replace("README.md", "index.md")).with_suffix(".html")
            paths = source_paths.of_sources(source.read_text())
            named += len(paths)
            self.assertEqual("Of the sources, which packages do not have" in page.read_text(), bool(paths), f"{source}: {paths}")
        self.assertGreater(named, 100)
        # What packages are said to have is in the sources that they are made of.
        packers = (support.ROOT / "tools/dev/package.sh").read_text() + (support.ROOT / "client/package/CMakeLists.txt").read_text()
        for path in source_paths.PACKED:
            self.assertTrue((support.ROOT / path).exists(), path)
            self.assertIn(path, packers)

    def test_paths_of_the_sources_exist(self):
        """A page that names a file that is gone leads nowhere, whoever has the sources."""
        for source in DOCS.rglob("*.md"):
            if "adr" in source.parts:  # which tell what was
                continue
            for path in source_paths.of_sources(source.read_text()):
                found = path.startswith("./dev") or list(support.ROOT.glob(path)) or list(support.ROOT.glob(path + "*"))
                self.assertTrue(found or path in MADE, f"{source}: {path}")

    def test_a_page_begins_with_its_title(self):
        body = (self.folder / "configuration.html").read_text().partition("<main")[2]
        self.assertLess(body.index("<h1"), body.index('<nav class="contents"'))
        self.assertIn("<summary>On this page</summary>", body)

    def test_no_link_of_the_sources_was_lost(self):
        for source in DOCS.rglob("*.md"):
            text = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", source.read_text())
            wanted = len(re.findall(r"(?<!!)\[[^\]]*\]\([^)]+\)", text))
            name = source.relative_to(DOCS).with_suffix(".html")
            page = self.folder / (name.with_name("index.html") if source.name == "README.md" else name)
            body = page.read_text().partition("<main")[2].partition("</main>")[0]
            given = len(re.findall("<a href=", body.partition("</nav>")[2] if '<nav class="contents"' in body else body))
            self.assertGreaterEqual(given, wanted, source.name)

    def test_files_that_pages_link_to_are_there_to_be_read_and_taken(self):
        own_console = (self.folder / "user-guide/own-console.html").read_text()
        self.assertIn('href="../files/client/example/own_console.py.html"', own_console)
        shown = html.unescape((self.folder / "files/client/example/own_console.py.html").read_text())
        source = support.ROOT / "client/example/own_console.py"
        self.assertIn(source.read_text().rstrip(), shown)
        self.assertEqual((self.folder / "files/client/example/own_console.py").read_bytes(), source.read_bytes())
        listed = (self.folder / "files/proto/isocenter/v1/index.html").read_text()
        for message in (support.ROOT / "proto/isocenter/v1").glob("*.proto"):
            self.assertIn(f'href="{message.name}.html"', listed)

    def test_no_two_places_of_a_page_have_one_name(self):
        for page in self.folder.rglob("*.html"):
            names = re.findall(r' id="([^"]*)"', page.read_text())
            self.assertEqual(sorted(names), sorted(set(names)), page.name)

    def test_what_is_not_there_leads_on(self):
        page = (self.folder / "not-found.html").read_text()
        for part in ('<script src="WAY-UP/page.js" defer>', 'type="search"', '<nav id="all-pages"', 'data-up="WAY-UP/"'):
            self.assertIn(part, page)
        self.assertEqual([target for target in re.findall(r'href="([^"]*)"', page) if not re.match("WAY-UP/|#|data:", target)], [])

    def test_pages_are_called_by_their_titles(self):
        index = (self.folder / "index.html").read_text()
        self.assertIn('<a href="user-guide/console.html">For the scanner console</a>', index)
        for page in self.folder.rglob("*.html"):
            self.assertEqual(re.findall(r"<a href=\"[^\"]*\.html\">[\w./-]+\.md</a>", page.read_text()), [], page.name)

    def test_links_of_alerts(self):
        targets = re.findall(r"end }}/(runbook\.html#\w+)'", RULES.read_text())
        self.assertGreater(len(targets), 15)
        for target in targets:
            self.must_lead_somewhere(self.folder / "runbook.html", target)

    def test_every_decision_is_listed_in_order(self):
        decisions = sorted(page.name for page in (support.ROOT / "docs/adr").glob("*.md"))
        listed = re.findall(r"^- \[(\d{4})\]\(adr/(.*)\) ", (support.ROOT / "docs/README.md").read_text(), re.M)
        self.assertEqual([file for _, file in listed], decisions)
        self.assertEqual([number for number, _ in listed], [name[:4] for name in decisions])

    def test_it_keeps_to_the_content_security_policy(self):
        for page in self.folder.rglob("*.html"):
            # Sources are shown as text, which may say anything.
            tags = "".join(re.findall("<[^>]*>", page.read_text()))
            self.assertIsNone(re.search(r"<script(?! src=\"(?:WAY-UP/|[./]*)page\.js\" defer></script>)|<style| style=| on\w+=", tags), page.name)


if __name__ == "__main__":
    support.main()
