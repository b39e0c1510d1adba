"""The documentation as pages: every link leads somewhere, also those of the alerts."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import support

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
                    self.must_lead_somewhere(page, target)
        self.assertGreater(count, 200)

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
            self.assertIsNone(re.search(r"<script(?! src=\"[./]*page\.js\" defer></script>)|<style| style=| on\w+=", page.read_text()), page.name)


if __name__ == "__main__":
    support.main()
