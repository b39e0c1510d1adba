"""docs/troubleshooting.md quotes messages that the code really has, and links to sections that exist."""

import re
import unittest

import support

PAGE = support.ROOT / "docs/troubleshooting.md"
SOURCES = ("server", "client", "proto/wire", "kernels/base", "kernels/calibrate", "kernels/geometry", "kernels/ops", "kernels/quality", "kernels/recon", "kernels/cuda")


def anchor(heading):
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def code():
    """All sources with the pieces of their string literals joined, as the compiler does."""
    texts = [
        file.read_text()
        for room in SOURCES
        for file in sorted((support.ROOT / room).rglob("*"))
        if file.suffix in (".cc", ".h")
    ]
    return re.sub(r'"\s*\n\s*"', "", "\n".join(texts)).replace('\\"', '"').replace("%%", "%")


class TroubleshootingTest(unittest.TestCase):
    def test_its_messages_are_the_programs(self):
        text = code()
        count = 0
        for line in PAGE.read_text().splitlines():
            if not line.startswith("| `"):
                continue
            for quoted in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
                for piece in quoted.split("…"):
                    piece = piece.strip(" '")
                    if len(piece) > 3:
                        count += 1
                        self.assertTrue(piece in text, f"no program says this: {quoted}")
        self.assertGreater(count, 50)

    def test_links_lead_somewhere(self):
        for page in ("troubleshooting.md", "runbook.md", "capacity.md"):
            folder = support.ROOT / "docs"
            for target in re.findall(r"\]\(([^)]+)\)", (folder / page).read_text()):
                file, _, section = target.partition("#")
                with self.subTest(page, target=target):
                    there = folder / file if file else folder / page
                    self.assertTrue(there.exists(), there)
                    if section:
                        headings = re.findall(r"(?m)^#+ (.+)$", there.read_text())
                        self.assertIn(section, [anchor(heading) for heading in headings])


if __name__ == "__main__":
    support.main()
